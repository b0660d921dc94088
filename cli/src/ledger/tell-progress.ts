// A run that is over by then tells nothing.
const quietMs = 10_000;
const everyMs = 10_000;

/** Tells how far a long run is: what it compares, and how many rows it has read. */
export function progressOf(
  tell: (text: string) => void,
  now = () => performance.now(),
): (of: string, rows: number) => void {
  const beganAt = now();
  let toldAt = beganAt + quietMs - everyMs;
  let all = 0;
  return (of, rows) => {
    all += rows;
    if (now() - toldAt < everyMs) return;
    toldAt = now();
    tell(`${Math.round((toldAt - beganAt) / 1_000)} s, ${all.toLocaleString('en-US')} rows; now ${of}`);
  };
}
