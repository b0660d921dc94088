/** Several values as one binary value, which a statement cuts apart: an array of bytes would travel as text, at twice the size. Positions count from 1. */
export function joinedBytes(values: readonly Uint8Array[]): {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
} {
  const starts: number[] = [];
  let start = 1;
  for (const { length } of values) {
    starts.push(start);
    start += length;
  }
  return { bytes: Buffer.concat(values), starts, lengths: values.map(({ length }) => length) };
}
