/** What is read of an event: which object it is about. What the event says of the object is not used; the object is fetched. */
export interface ProcessorEvent {
  readonly eventId: string;
  readonly type: string;
  readonly objectId: string;
  readonly createdAt: Date;
  readonly isLive: boolean;
  /** The connected account that it happened on; undefined for the key's own. */
  readonly processorAccount: string | undefined;
}

const eventId = /^evt_\w{1,120}$/;
const objectId = /^[a-z]{2,10}_\w{1,120}$/;
const accountId = /^acct_\w{1,120}$/;
const typeText = /^[a-z_.]{1,100}$/;

/** Reads an event of the processor; undefined for what is none. */
export function readEvent(value: unknown): ProcessorEvent | undefined {
  if (!isRecord(value) || value.object !== 'event') return undefined;
  const { id, type, created, livemode, account, data } = value;
  const about = isRecord(data) && isRecord(data.object) ? data.object.id : undefined;
  if (!matches(eventId, id) || !matches(typeText, type) || !matches(objectId, about)) return undefined;
  if (typeof created !== 'number' || !Number.isSafeInteger(created) || created < 0 || created > 1e11) return undefined;
  if (typeof livemode !== 'boolean' || (account !== undefined && !matches(accountId, account))) return undefined;
  return {
    eventId: id,
    type,
    objectId: about,
    createdAt: new Date(created * 1_000),
    isLive: livemode,
    processorAccount: account,
  };
}

function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
