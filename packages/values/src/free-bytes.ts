/**
 * Frees the memory of these bytes at once; they are empty from then on. Only for bytes that nobody reads any more. Buffers that wait for the garbage collector have it look at the
 * whole heap: an upload of 10 MB did so several times, which took longer than all other work on it.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  // Buffers of half a pool or less share its memory, and what is small is often kept by its maker.
  const isPooled = buffer.byteLength <= Buffer.poolSize && byteLength < buffer.byteLength;
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= leastBytes && !isPooled) buffer.transfer(0);
}

const leastBytes = 16_384;
