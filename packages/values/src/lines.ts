/** The lines of a text, by every break that a terminal or a document may begin a new line at. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/);
}
