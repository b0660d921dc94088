import { setImmediate as turn } from 'node:timers/promises';
import type { RenderedSubstantiation } from '@eligo/contract';
import { openPdf, type PdfPages } from '@eligo/pdf';
import { dollars, timeInWords } from '@eligo/values';

type Line = RenderedSubstantiation['line_items'][number];
type Payment = RenderedSubstantiation['payments'][number];
/** A time in words. */
type When = (time: string | null) => string | null;

/**
 * The proof of a session's eligibility as a PDF, with the facts of the JSON and times of this time zone. A character that its fonts do not have is a question
 * mark.
 */
export async function substantiationPdf(proof: RenderedSubstantiation, timeZone: string): Promise<Buffer> {
  const when: When = (time) => (time === null ? null : timeInWords(new Date(time), timeZone));
  const title = `Substantiation of ${proof.checkout_session}`;
  const pages = await openPdf({ title, createdAt: new Date(proof.created_at) });
  pages.title('Substantiation of HSA/FSA eligibility');
  if (proof.test_mode) {
    pages.text('Test mode: no money was charged.');
    pages.gap();
  }
  facts(pages, [
    ['Checkout session', proof.checkout_session],
    ['Status', proof.status],
    ['Customer', proof.customer],
    ['Created', when(proof.created_at)],
    ['Eligibility decided', when(proof.decided_at)],
    ['Food policy version', proof.food_policy_version],
  ]);
  pages.heading('Amounts');
  pages.row('Total', dollars(proof.amount_total));
  pages.row('Eligible', dollars(proof.amount_eligible));
  pages.row('Captured', dollars(proof.amount_captured));
  pages.row('Refunded', dollars(proof.amount_refunded));
  pages.row('Disputed', dollars(proof.amount_disputed));
  const cards = new Map(proof.payments.map((payment) => [payment.payment_intent, cardInWords(payment)]));
  for (const [at, line] of proof.line_items.entries()) {
    await writeLine(pages, at + 1, line, { cards, when });
  }
  if (proof.has_more_refunds) {
    pages.gap();
    pages.text('Older refunds are not listed. The amounts include them.');
  }
  for (const payment of proof.payments) writePayment(pages, payment, when);
  return pages.end();
}

// A proof has up to a hundred lines and a thousand refunds, perhaps all of one line: other requests have their turn after each.
async function writeLine(
  pages: PdfPages,
  position: number,
  line: Line,
  { cards, when }: { readonly cards: ReadonlyMap<string, string>; readonly when: When },
): Promise<void> {
  pages.heading(`Item ${position}: ${line.quantity} x ${line.name ?? line.description ?? line.product}`);
  facts(pages, [
    ['Description', line.name === null ? null : line.description],
    ['Product', line.product],
    ['UPC', line.upc_code],
    ['GTIN', line.gtin],
    ['Reference GTIN', line.reference_gtin],
    ['Eligibility class', line.eligibility ?? 'not decided'],
    ['Decided by rule', line.rule],
    ['Version of the rule', line.rule_version],
    ['Rationale', line.rationale],
    ['Letter of medical necessity', line.letter && letterInWords(line.letter, when)],
  ]);
  pages.gap();
  pages.row('Unit price', dollars(line.unit_amount));
  pages.row('Total', dollars(line.amount_total));
  pages.row('Eligible', dollars(line.amount_eligible));
  pages.row('Captured', dollars(line.amount_captured));
  for (const { capture, payment_intent, amount, created_at } of line.captures) {
    const by = capture === null ? '' : ` (${capture})`;
    pages.row(`   ${when(created_at)}  from ${cards.get(payment_intent) ?? payment_intent}${by}`, dollars(amount));
  }
  pages.row('Refunded', dollars(line.amount_refunded));
  await turn();
  for (const { refund, payment_intent, amount, created_at } of line.refunds) {
    pages.row(`   ${when(created_at)}  to ${cards.get(payment_intent) ?? payment_intent} (${refund})`, dollars(amount));
    await turn();
  }
}

function writePayment(pages: PdfPages, payment: Payment, when: When): void {
  pages.heading(`Payment with ${cardInWords(payment)}`);
  facts(pages, [
    ['Charged', when(payment.created_at)],
    ['Charge', payment.charge],
    ['Payment intent', payment.payment_intent],
    ['Payment method', payment.payment_method],
    ['Health card', healthCardInWords(payment)],
    ['Disputed', payment.disputed ? 'yes' : 'no'],
  ]);
  pages.gap();
  pages.row('Authorized', dollars(payment.amount_authorized));
  pages.row('Captured', dollars(payment.amount_captured));
  pages.row('Refunded', dollars(payment.amount_refunded));
}

/** Writes those that are known. */
function facts(pages: PdfPages, rows: readonly (readonly [name: string, value: string | null])[]): void {
  for (const [name, value] of rows) if (value !== null && value !== '') pages.text(`${name}: ${value}`);
}

function letterInWords(
  { letter_id, status, decided_at, expires_at, reviewer }: NonNullable<Line['letter']>,
  when: When,
): string {
  const decided = decided_at === null ? 'not decided' : `decided ${when(decided_at)}`;
  const by = reviewer === null ? '' : ` by ${reviewer.name}, license ${reviewer.license} (${reviewer.state})`;
  return `${letter_id}, ${status}, ${decided}${by}, expires ${when(expires_at)}`;
}

function cardInWords({ card }: Payment): string {
  if (card === null) return 'a card';
  return `${card.brand} ${card.funding} card ending in ${card.last4}`;
}

function healthCardInWords({ card }: Payment): string {
  if (card === null || card.hsa_fsa === null) return 'not known';
  const source = card.hsa_fsa_source === null ? '' : `, according to ${card.hsa_fsa_source}`;
  return `${card.hsa_fsa ? 'yes' : 'no'}${source}`;
}
