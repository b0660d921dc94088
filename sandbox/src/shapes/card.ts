import { createHash } from 'node:crypto';
import { cardByName, type TestCard } from '../cards.ts';

const checks = { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' };

/** `payment_method.card`. `description`, `iin` and `issuer` say what kind of card it is; Stripe has them under these names. */
export function cardShape(name: string, expMonth: number, expYear: number): object {
  const card = needCard(name);
  return {
    brand: card.brand,
    checks,
    country: card.country,
    description: card.description,
    display_brand: card.brand,
    exp_month: expMonth,
    exp_year: expYear,
    fingerprint: fingerprintOf(card),
    funding: card.funding,
    generated_from: null,
    iin: card.iin,
    issuer: card.issuer,
    last4: card.last4,
    networks: { available: [card.brand], preferred: null },
    regulated_status: 'unregulated',
    three_d_secure_usage: { supported: true },
    wallet: null,
  };
}

export function needCard(name: string): TestCard {
  const card = cardByName(name);
  if (card === undefined) throw new Error(`A stored payment method refers to the unknown card ${name}`);
  return card;
}

const fingerprints = new Map<string, string>();

function fingerprintOf(card: TestCard): string {
  const known = fingerprints.get(card.name);
  if (known !== undefined) return known;
  const made = createHash('sha256').update(`sandbox-card:${card.name}`).digest('base64url').slice(0, 16);
  fingerprints.set(card.name, made);
  return made;
}
