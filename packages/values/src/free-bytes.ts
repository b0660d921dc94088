/**
 * Frees the memory of these bytes at once; they are empty afterwards. Only for bytes that nobody reads again. Otherwise the garbage collector marks the whole heap several times
 * during an upload of 10 MB, which takes longer than all other work on it.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  // Small buffers share the memory of a pool, and their maker often keeps them.
  const isPooled = buffer.byteLength <= Buffer.poolSize && byteLength < buffer.byteLength;
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= leastBytes && !isPooled) buffer.transfer(0);
}

const leastBytes = 16_384;
