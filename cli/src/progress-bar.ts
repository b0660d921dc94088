const width = 30;
/** Where nobody watches a line being redrawn, a line is said for each of these steps. */
const steps = 10;

/** Shows how far something is: a bar that is redrawn on a terminal, a line at each tenth elsewhere. `share` is from 0 to 1. */
export function progressBar(
  say: (text: string) => void,
  terminal: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): (share: number, words: string) => void {
  let told = -1;
  return (share, words) => {
    const done = Math.round(share * width);
    const line = `[${'#'.repeat(done)}${'.'.repeat(width - done)}] ${String(Math.floor(share * 100)).padStart(3)} %  ${words}`;
    if (terminal.isTTY) {
      terminal.write(`\r\u001b[K${line}${share >= 1 ? '\n' : ''}`);
      return;
    }
    const step = Math.floor(share * steps);
    if (step === told) return;
    told = step;
    say(line);
  };
}
