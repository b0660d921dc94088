import type { PageView } from '@eligo/contract';
import type { ComponentChildren } from 'preact';
import { day, money } from './format.ts';
import type { Language, Strings } from './strings.ts';

/** The cart line by line, what a health card can pay for and why, and the totals. */
export function Cart(given: {
  readonly view: PageView;
  readonly language: Language;
  readonly strings: Strings;
  /** What stands below the totals. */
  readonly children?: ComponentChildren;
}) {
  const { view, language, strings } = given;
  if (view.lines.length === 0) return null;
  const { totals } = view;
  const { entered } = view.promo_code;
  const amount = (cents: number) => money(language, cents);
  const rows: [string, number][] = [
    [strings.discount, (entered?.amount ?? 0) - totals.discount],
    [strings.promoEntered(entered?.code ?? ''), -(entered?.amount ?? 0)],
    [view.shipping_name === null ? strings.shipping : `${strings.shipping} (${view.shipping_name})`, totals.shipping],
    [strings.tax, totals.tax],
    [strings.fees, totals.fees],
  ];
  return (
    <section class="cart" aria-labelledby="order">
      <h2 id="order">{strings.yourOrder}</h2>
      <ul>
        {view.lines.map((line) => (
          <li>
            <div class="line">
              <span class="what">{line.description ?? strings.yourOrder}</span>
              <span class="amount">{amount(line.amount_subtotal)}</span>
            </div>
            <div class="quiet">
              {line.quantity > 1 && <span>{strings.quantity(line.quantity)} · </span>}
              {line.recurring && (
                <span>{strings.every(line.recurring.interval, line.recurring.interval_count)} · </span>
              )}
              <span class={isEligible(line.eligibility) ? 'eligible' : undefined}>
                {strings.classes[line.eligibility ?? 'not_eligible'] ?? strings.classes.not_eligible}
              </span>
            </div>
          </li>
        ))}
      </ul>
      <dl>
        <div>
          <dt>{strings.subtotal}</dt>
          <dd>{amount(totals.subtotal)}</dd>
        </div>
        {rows.map(
          ([name, cents]) =>
            cents !== 0 && (
              <div>
                <dt>{name}</dt>
                <dd>{amount(cents)}</dd>
              </div>
            ),
        )}
        <div class="total">
          <dt>{strings.total}</dt>
          <dd>{amount(totals.total)}</dd>
        </div>
        {view.due_now !== totals.total && (
          <div class="total">
            <dt>{strings.dueNow}</dt>
            <dd>{amount(view.due_now)}</dd>
          </div>
        )}
      </dl>
      {given.children}
      {view.trial_end === null ? (
        <HealthPart view={view} language={language} strings={strings} />
      ) : (
        <>
          <p class="note">{strings.trial(day(language, view.trial_end))}</p>
          {view.refuses_health_cards && eligibleOf(view) > 0 && <p class="note">{strings.healthNotTaken}</p>}
        </>
      )}
    </section>
  );
}

function HealthPart({ view, language, strings }: { view: PageView; language: Language; strings: Strings }) {
  const { health_card_amount: health, other_card_amount: other } = view;
  if (view.due_now === 0) return null;
  const eligible = eligibleOf(view);
  if (view.mode === 'reimbursement' && eligible > 0) {
    return (
      <p class="note">
        <strong>{strings.reimbursable(money(language, eligible))}</strong> {strings.reimbursableHow}
      </p>
    );
  }
  if (health === 0) {
    const why = view.refuses_health_cards ? strings.healthNotTaken : strings.healthTooSmall;
    return <p class="note">{eligible > 0 ? why : strings.healthCanPayNothing}</p>;
  }
  if (other === 0) return <p class="note">{strings.healthCanPayAll}</p>;
  return (
    <p class="note">
      <strong>{strings.healthCanPay(money(language, health))}</strong> {strings.healthCanPayWhy}
    </p>
  );
}

function eligibleOf({ lines }: PageView): number {
  return lines.reduce((sum, line) => sum + line.amount_eligible, 0);
}

function isEligible(eligibility: string | null): boolean {
  return eligibility !== null && eligibility !== 'not_eligible';
}
