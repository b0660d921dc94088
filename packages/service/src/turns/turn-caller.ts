/** Who asks for a turn. */
export interface TurnCaller {
  readonly accountId: string;
  readonly testMode: boolean;
  /** The requests a second that its key may make; undefined where it may make as many as it likes, and where its key is unknown. */
  readonly perSecond?: number | undefined;
  /** What asks, if not a key of the account: its shoppers' pages, the delivery of its events, or its test clocks. */
  readonly of?: 'pages' | 'deliveries' | 'clocks' | undefined;
}

/** The account in its mode: what it does in test mode does not count against it in live mode, and neither does what its pages, deliveries and test clocks take against its keys. */
export function nameOf({ accountId, testMode, of }: TurnCaller): string {
  const name = testMode ? `${accountId} test` : accountId;
  return of === undefined ? name : `${name} ${of}`;
}
