import type { Database, Scope } from '@eligo/postgres';
import type { CardFacts as ProcessorCard } from '@eligo/processor';
import type { HsaFsa } from '../domain/card-kind.ts';
import type { CardFacts } from '../domain/payment-method.ts';
import { findIssuerRange } from '../store/issuer-ranges.ts';

/** A card as it is stored, from what the processor said of it. The digits of its issuer are looked up and not kept. */
export async function storedCard(database: Database, scope: Scope, card: ProcessorCard): Promise<CardFacts> {
  const { brand, expMonth, expYear, funding, last4 } = card;
  const kind = await recognizeCard(database, scope, card);
  return { brand, country: card.country ?? 'US', expMonth, expYear, funding, last4, ...kind };
}

/** Whether a card is a health card: by the processor's word, or else by the operator's list of issuer ranges. */
async function recognizeCard(database: Database, scope: Scope, { hsaFsa, iin }: ProcessorCard): Promise<HsaFsa> {
  if (hsaFsa !== null) return { hsaFsa, hsaFsaSource: 'processor' };
  const inRange = iin === undefined ? undefined : await findIssuerRange(database, scope, iin);
  return inRange === undefined
    ? { hsaFsa: null, hsaFsaSource: null }
    : { hsaFsa: inRange, hsaFsaSource: 'issuer_range' };
}
