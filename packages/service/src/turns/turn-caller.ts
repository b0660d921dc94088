/** Who asks for a turn. */
export interface TurnCaller {
  readonly accountId: string;
  readonly testMode: boolean;
  /** The requests a second that its key may make; undefined where it may make as many as it likes, and where its key is unknown. */
  readonly perSecond?: number | undefined;
}

/** The account in its mode: what it does in test mode does not count against it in live mode. */
export function nameOf({ accountId, testMode }: TurnCaller): string {
  return testMode ? `${accountId} test` : accountId;
}
