import { given } from '@eligo/values';

/** The options of a card, or undefined where none is given: the SDK would send an empty text. */
export function cardOptions<Card extends object>(
  fields: { [Name in keyof Card]: Card[Name] | undefined },
): { card: Card } | undefined {
  const card = paramsOf<Card>(fields);
  return Object.keys(card).length === 0 ? undefined : { card };
}

/** The SDK's parameters without those that are not given, which the SDK would send as empty texts. A name that the SDK does not know is an error. */
export function paramsOf<Params extends object>(fields: { [Name in keyof Params]: Params[Name] | undefined }): Params {
  return given(fields) as Params;
}
