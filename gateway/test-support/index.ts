export { type ExampleReferences, exampleBody } from './example-bodies.ts';
export { probeAuthentication, probeForeignRecords, probeScopes } from './probe-access.ts';
export { probeAnswers } from './probe-answers.ts';
export { probeBadInput } from './probe-bad-input.ts';
export { type FuzzOptions, type FuzzReport, probeFuzz } from './probe-fuzz.ts';
export { probeMetadata } from './probe-metadata.ts';
export type { ProbeReport, ProbeTarget } from './probe-target.ts';
export { type SeededRecords, seedRecords } from './seed-records.ts';
export { exampleContent } from './upload.ts';
