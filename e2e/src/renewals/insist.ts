import { type ApiAnswer, waitUntil } from '@eligo/testkit';

/** Asks again while a process comes up again, or works on the same: the gateway is away, or answers 503. */
export async function insist(what: string, ask: () => Promise<ApiAnswer>, status: number): Promise<ApiAnswer> {
  let last: ApiAnswer | undefined;
  const answered = async () => {
    last = await ask();
    return last.status === 429 || last.status >= 500 ? undefined : last;
  };
  const answer = await waitUntil(answered, { withinMs: 90_000, everyMs: 100, what: `${what} ${last?.text ?? ''}` });
  if (answer.status !== status)
    throw new Error(`${what}: expected ${status}, was answered ${answer.status} ${answer.text}`);
  return answer;
}
