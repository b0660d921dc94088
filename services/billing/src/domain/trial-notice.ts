/** When the end of a trial is announced: three days before, or at once if the trial is shorter. Null without a trial. */
export function trialNoticeAt(start: Date, trialEnd: Date | null): Date | null {
  return trialEnd === null ? null : new Date(Math.max(start.getTime(), trialEnd.getTime() - noticeMs));
}

const noticeMs = 3 * 86_400_000;
