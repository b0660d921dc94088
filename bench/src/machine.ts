import { cpus, totalmem } from 'node:os';

/** What a ratio was measured on: figures of different machines are not comparable, ratios nearly are. */
export function describeMachine(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, ${gigabytes} GB, ${process.platform} ${process.arch}, Node ${process.version}`;
}
