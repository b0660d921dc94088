import type { PagePayment, PageView } from '@eligo/contract';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Address, type AddressField, AddressFields, addressOf, missingIn } from './address-fields.tsx';
import { type CardFields, CardFrame } from './card-frame.tsx';
import { type EmailFault, EmailField, emailFault } from './email-field.tsx';
import { type FieldsState, textOf } from './fields-state.tsx';
import { money } from './format.ts';
import { isInvoicePage } from './page-api.ts';
import type { Language, Strings } from './strings.ts';
import { StripeCard } from './stripe-fields.tsx';
import { amountOf, isHeldForLetter, isHold, type Slot, slotsOf, type Way, waysToPay } from './ways-to-pay.ts';

/** The form: which cards, an address and the terms where they are asked for. `onPay` gets what the gateway takes. */
export function PayForm(given: {
  readonly view: PageView;
  readonly language: Language;
  readonly strings: Strings;
  readonly busy: boolean;
  /** Payments that had an outcome: each empties the card fields, and nothing else that was typed. */
  readonly tries: number;
  readonly onPay: (payment: PagePayment) => Promise<void>;
}) {
  const { view, language, strings, busy, onPay } = given;
  const ways = waysToPay(view);
  const [chosen, setChosen] = useState<Way | undefined>(undefined);
  const way = chosen !== undefined && ways.includes(chosen) ? chosen : (ways[0] ?? 'none');
  const [address, setAddress] = useState<Address>(() => addressOf(view));
  const [missing, setMissing] = useState<readonly AddressField[]>([]);
  const [email, setEmail] = useState(view.email ?? '');
  const [emailIs, setEmailIs] = useState<EmailFault | undefined>(undefined);
  const [terms, setTerms] = useState(false);
  const [termsMissing, setTermsMissing] = useState(false);
  const [isTokenizing, setTokenizing] = useState(false);
  const [fields, setFields] = useState<Readonly<Partial<Record<Slot, FieldsState>>>>({});
  /** Counts the tries to pay while fields are not there, so that each is told. */
  const [early, setEarly] = useState(0);
  const cards = useRef(new Map<Slot, CardFields>());
  const form = useRef<HTMLFormElement>(null);
  const working = useRef(false);
  const isBusy = busy || isTokenizing;
  const text = view.custom_text;
  const needsTerms = text?.terms_of_service_checkbox_required === true;
  const slots = slotsOf(way);
  const absentFields = slots.map((slot) => fields[slot] ?? 'loading').find((state) => state !== 'ready');
  const onState = useCallback((slot: Slot, state: FieldsState) => setFields((all) => ({ ...all, [slot]: state })), []);

  useEffect(() => {
    for (const card of cards.current.values()) card.setBusy(isBusy);
  }, [isBusy]);

  const submit = async () => {
    // A second click arrives before the first has drawn anything.
    if (working.current || busy) return;
    const faultOfEmail = view.collects_email ? emailFault(email) : undefined;
    setEmailIs(faultOfEmail);
    const absent = view.collects_address ? missingIn(address) : [];
    setMissing(absent);
    setTermsMissing(needsTerms && !terms);
    const [firstAbsent] = absent;
    const at = (faultOfEmail && 'email') ?? firstAbsent ?? (needsTerms && !terms ? 'terms' : undefined);
    if (at !== undefined) return form.current?.querySelector<HTMLElement>(`#${at}`)?.focus();
    setEarly((count) => (absentFields === undefined ? 0 : count + 1));
    if (absentFields !== undefined) return;
    working.current = true;
    setTokenizing(true);
    try {
      const given = await tokenizeAll(view, way, cards.current);
      if (given === undefined) return;
      await onPay({
        cards: given,
        ...(view.collects_email ? { email: email.trim() } : {}),
        ...(view.collects_address ? { shipping_details: trimmed(address) } : {}),
        ...(needsTerms ? { terms_accepted: true } : {}),
        // What stood on the button when it was pressed.
        ...(view.split_version === null ? {} : { shown_split: view.split_version }),
      });
    } finally {
      working.current = false;
      setTokenizing(false);
    }
  };

  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {view.collects_email && (
        <EmailField
          {...{ email, fault: emailIs, strings, disabled: isBusy, onChange: setEmail }}
          isForRenewals={view.mode === 'subscription'}
        />
      )}
      {view.collects_address && (
        <AddressFields
          {...{ address, missing, language, strings, disabled: isBusy, onChange: setAddress }}
          countries={view.shipping_countries}
          message={text?.shipping_address.message ?? null}
        />
      )}
      <h2>{strings.payment}</h2>
      {text?.payment.message && <p class="quiet">{text.payment.message}</p>}
      {ways.length > 1 && (
        <fieldset disabled={isBusy} class="ways">
          <legend>{view.due_now === 0 ? strings.saveCard : strings.howToPay}</legend>
          {ways.map((one) => (
            <label class="way" key={one}>
              <input type="radio" name="way" checked={way === one} onChange={() => setChosen(one)} />
              <span>
                {wayName(one, ways, strings)}
                <span class="quiet">{wayDetail(one, view, language, strings)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {view.card_fields === null && way !== 'none' ? (
        <p class="alert" role="alert">
          {strings.cardsNotSetUp}
        </p>
      ) : (
        slots.map((slot) => (
          <Card
            key={`${slot} ${given.tries}`}
            {...{ view, way, slot, language, strings, isAlone: ways.length === 1 }}
            {...{ cards: cards.current, onState }}
            onSubmit={() => void submit()}
          />
        ))
      )}
      {(needsTerms || text?.terms_of_service_acceptance.message) && (
        <div class="terms">
          {needsTerms && (
            <input
              type="checkbox"
              id="terms"
              required
              checked={terms}
              disabled={isBusy}
              aria-invalid={termsMissing}
              aria-describedby={termsMissing ? 'terms-fault' : undefined}
              onChange={(event) => setTerms(event.currentTarget.checked)}
            />
          )}
          {needsTerms ? (
            <label for="terms">{text?.terms_of_service_acceptance.message ?? strings.acceptTerms}</label>
          ) : (
            <p>{text?.terms_of_service_acceptance.message}</p>
          )}
          {termsMissing && (
            <p class="fault" id="terms-fault">
              {strings.termsRequired}
            </p>
          )}
        </div>
      )}
      {text?.submit.message && <p class="quiet">{text.submit.message}</p>}
      {isInvoicePage && <p class="quiet">{strings.keepsCard}</p>}
      {isHeldForLetter(view, way) && view.due_now > 0 && <p class="quiet">{strings.keepsCardForReview}</p>}
      {early > 0 && absentFields !== undefined && view.card_fields !== null && (
        <p class="fault" role="alert" key={early}>
          {textOf(absentFields, strings)}
        </p>
      )}
      <button class="pay" type="submit" aria-disabled={isBusy || (view.card_fields === null && way !== 'none')}>
        {isBusy && <span class="spinner" aria-hidden="true" />}
        {buttonText(view, way, language, strings)}
      </button>
    </form>
  );
}

function Card(given: {
  readonly view: PageView;
  readonly way: Way;
  readonly slot: Slot;
  readonly isAlone: boolean;
  readonly language: Language;
  readonly strings: Strings;
  readonly cards: Map<Slot, CardFields>;
  readonly onState: (slot: Slot, state: FieldsState) => void;
  readonly onSubmit: () => void;
}) {
  const { view, way, slot, language, strings, cards, onState: onStateOf } = given;
  const onState = useCallback((state: FieldsState) => onStateOf(slot, state), [slot, onStateOf]);
  const onFields = useCallback(
    (fields: CardFields, isThere: boolean) => {
      // New fields of the slot may be there before the old ones go.
      if (isThere) cards.set(slot, fields);
      else if (cards.get(slot) === fields) cards.delete(slot);
    },
    [cards, slot],
  );
  if (view.card_fields === null) return null;
  const label = slot === 'health' ? strings.healthCard : given.isAlone ? strings.card : strings.otherCard;
  const amount = amountOf(view, way, slot);
  return (
    <section class="card" aria-labelledby={`${slot}-card`}>
      <h3 id={`${slot}-card`}>
        {label}
        {amount > 0 && <span class="quiet">{strings.pays(money(language, amount))}</span>}
      </h3>
      {view.card_fields.kind === 'sandbox' ? (
        <CardFrame
          fields={view.card_fields}
          {...{ slot, label, language, strings, onFields, onState }}
          onSubmit={given.onSubmit}
        />
      ) : (
        <StripeCard
          fields={view.card_fields}
          amountCents={amount}
          isHold={isHold(view, way, slot, isInvoicePage)}
          accentColor={view.shop.accent_color}
          {...{ language, strings, onFields, onState }}
        />
      )}
      {mayBeLeft(view, way, slot) && <p class="quiet">{strings.addLater}</p>}
    </section>
  );
}

// Undefined where a card is not complete: its fields say what is missing. All are asked, so that both show it.
async function tokenizeAll(
  view: PageView,
  way: Way,
  cards: ReadonlyMap<Slot, CardFields>,
): Promise<PagePayment['cards'] | undefined> {
  const given: PagePayment['cards'] = [];
  for (const slot of slotsOf(way)) {
    const card = cards.get(slot);
    if (card === undefined) return undefined;
    if (mayBeLeft(view, way, slot) && card.isEmpty()) continue;
    const answer = await card.tokenize();
    if ('refused' in answer) return undefined;
    given.push({ payment_method: answer.id, slot });
  }
  return given;
}

// A session holds the health card and asks for the second one then. An invoice is paid whole, and a set-up has no next step.
function mayBeLeft({ mode }: PageView, way: Way, slot: Slot): boolean {
  return way === 'both' && slot === 'other' && mode !== 'setup' && !isInvoicePage;
}

function trimmed(address: Address): Address {
  const { line1, line2, city, state, postal_code, country } = address;
  const second = line2?.trim() ?? '';
  return {
    ...{ line1: line1.trim(), city: city.trim(), state: state.trim(), postal_code: postal_code.trim(), country },
    ...(second === '' ? {} : { line2: second }),
  };
}

function wayName(way: Way, ways: readonly Way[], strings: Strings): string {
  if (way === 'both') return strings.payBoth;
  if (way === 'health') return strings.payHealth;
  return ways.includes('both') ? strings.payOther : strings.otherCard;
}

function wayDetail(way: Way, view: PageView, language: Language, strings: Strings): string | null {
  if (view.due_now === 0) return null;
  const { health_card_amount: health, other_card_amount: other, due_now: due } = view;
  if (way === 'both') return strings.payBothDetail(money(language, health), money(language, other));
  return way === 'other' ? strings.payOtherDetail(money(language, due)) : null;
}

function buttonText(view: PageView, way: Way, language: Language, strings: Strings): string {
  if (view.mode === 'setup') return way === 'both' ? strings.saveBoth : strings.save;
  if (view.due_now === 0) return view.mode === 'subscription' ? strings.startTrial : strings.finish;
  const amount = money(language, amountOf(view, way === 'both' ? 'other' : way, 'other'));
  return view.manual_capture || isHeldForLetter(view, way) ? strings.hold(amount) : strings.pay(amount);
}
