import { create } from '@bufbuild/protobuf';
import { type TimelineEntry as EntryMessage, TimelineEntrySchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { TimelineEntry } from '../domain/session-timeline.ts';

/** One thing that happened to a session, as other services see it. */
export function timelineEntryMessage(entry: TimelineEntry): EntryMessage {
  const { status, code, declineCode } = entry;
  return create(TimelineEntrySchema, {
    atMs: BigInt(entry.at.getTime()),
    type: entry.type,
    recordId: entry.recordId,
    ...present({ status, code, declineCode }),
    ...(entry.amountCents === null ? {} : { amountCents: BigInt(entry.amountCents) }),
  });
}
