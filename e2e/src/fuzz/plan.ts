/** Three batches of records, with some sixteen requests to each route: with ten, a route had no request that was accepted. */
const shortRun = 2_400;

/** How many requests a run sends: those of `npm test`, or as many as `npm run fuzz -- --requests N` asks for. */
export function fuzzRequestsOfRun(): number {
  const given = process.env.ELIGO_FUZZ_REQUESTS;
  if (given === undefined || given === '') return shortRun;
  const requests = Number(given);
  if (!Number.isInteger(requests) || requests < 3) throw new Error('ELIGO_FUZZ_REQUESTS is a whole number from 3');
  return requests;
}
