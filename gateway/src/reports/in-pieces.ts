// A write of this size costs little, and memory holds one of them.
const pieceLength = 16_384;

/** Joins short texts into pieces that are worth a write. */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = '';
  for await (const text of texts) {
    piece += text;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
