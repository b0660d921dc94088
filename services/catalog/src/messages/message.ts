import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';

/** A message's fields where null, as the database has it, also means absent. */
export type NullableFields<Desc extends DescMessage> = {
  readonly [Field in keyof MessageInitShape<Desc>]?: MessageInitShape<Desc>[Field] | null | undefined;
};

/** A message from a record's values. `create` leaves out what is null or undefined, which its types do not say. */
export function messageOf<Desc extends DescMessage>(desc: Desc, fields: NullableFields<Desc>): MessageShape<Desc> {
  return create(desc, fields as MessageInitShape<Desc>);
}

/** A time as messages carry it. */
export function msOf(time: Date): bigint {
  return BigInt(time.getTime());
}

/** A time from a message. */
export function timeOf(ms: bigint): Date {
  return new Date(Number(ms));
}
