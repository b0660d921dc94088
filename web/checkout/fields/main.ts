import './fields.css';
import {
  type CardFault,
  cardOf,
  faultOfCvc,
  faultOfExpiry,
  faultOfNumber,
  groupExpiry,
  groupNumber,
} from './card-form.ts';
import { language as firstLanguage, isFromPage, query, say, tellHeight } from './parent-page.ts';
import type { Refusal, ToFields } from './protocol.ts';
import { fieldStrings } from './strings.ts';

const account = query.get('account') ?? '';
/** Of a set-up intent that the card is for: it is set up before the page has its identifier. */
const clientSecret = location.hash.slice(1);
let language: 'en' | 'es' = firstLanguage;
let strings = fieldStrings[language];
/** For trying Eligo out: the sandbox's own cards are no secret. */
const testCard = query.get('slot') === 'health' ? '4000 0512 3000 0072' : '4242 4242 4242 4242';

type Field = 'number' | 'expiry' | 'cvc';
const order: readonly Field[] = ['number', 'expiry', 'cvc'];

const form = document.querySelector('form') as HTMLFormElement;
const inputs = {
  number: addField('number', 'cc-number', 23),
  expiry: addField('expiry', 'cc-exp', 9),
  cvc: addField('cvc', 'cc-csc', 4),
};
const general = addParagraph('general', 'fault');
general.setAttribute('role', 'alert');
const hint = addParagraph('hint', 'hint');
/** What the paragraph of the whole card says. */
let said: 'declined' | 'unreachable' | undefined;

const checks: Readonly<Record<Field, () => CardFault | undefined>> = {
  number: () => faultOfNumber(inputs.number.value),
  expiry: () => faultOfExpiry(inputs.expiry.value, new Date()),
  cvc: () => faultOfCvc(inputs.cvc.value, inputs.number.value),
};

form.addEventListener('submit', (event) => event.preventDefault());
// The button is outside, in the page; without one of its own, a form of several fields is not submitted by Enter.
form.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') say({ from: 'card-fields', kind: 'submit' });
});
addEventListener('message', (event: MessageEvent<ToFields>) => {
  if (!isFromPage(event) || event.data?.to !== 'card-fields') return;
  const message = event.data;
  if (message.kind === 'focus') inputs.number.focus();
  else if (message.kind === 'busy') for (const field of order) inputs[field].readOnly = message.busy;
  else if (message.kind === 'show') show(message.language);
  else void tokenize(message.request);
});
label();
const tell = tellHeight('card-fields');
say({ from: 'card-fields', kind: 'ready' });

// What was typed stays.
function show(next: typeof language): void {
  if (next !== language) {
    language = next;
    strings = fieldStrings[language];
    label();
  }
  tell();
}

function label(): void {
  document.documentElement.lang = language;
  document.title = strings.title;
  for (const field of order) {
    const place = form.querySelector(`label[for=${field}]`);
    if (place !== null) place.textContent = strings[field];
    if (inputs[field].getAttribute('aria-invalid') === 'true') showFault(field);
  }
  hint.textContent = `${strings.testCard} ${testCard}`;
  sayOfCard(said);
}

function sayOfCard(what: typeof said): void {
  said = what;
  general.textContent = what === undefined ? '' : strings[what];
}

async function tokenize(request: number): Promise<void> {
  const refuse = (reason: Refusal) => say({ from: 'card-fields', kind: 'refused', request, reason });
  const faulty = order.filter((field) => !showFault(field));
  const [first] = faulty;
  if (first !== undefined) {
    inputs[first].focus();
    return refuse('incomplete');
  }
  try {
    const card = cardOf(inputs.number.value, inputs.expiry.value, inputs.cvc.value);
    let response = await send('payment_methods', { account, ...card });
    const { id } = (await response.json()) as { id?: string };
    if (response.ok && clientSecret !== '') {
      response = await send('set_ups', { client_secret: clientSecret, payment_method: id });
    }
    if (response.ok && id !== undefined) {
      sayOfCard(undefined);
      return say({ from: 'card-fields', kind: 'tokenized', request, id });
    }
    const reason = response.status < 500 ? 'declined' : 'unreachable';
    sayOfCard(reason);
    refuse(reason);
  } catch {
    // The connection failed or the answer was cut off: the page says so and the shopper tries again.
    sayOfCard('unreachable');
    refuse('unreachable');
  }
}

function send(path: string, body: object): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  });
}

function addField(name: Field, autocomplete: AutoFill, maxLength: number): HTMLInputElement {
  const row = document.createElement('div');
  row.className = `field ${name}`;
  const caption = document.createElement('label');
  caption.htmlFor = name;
  const input = document.createElement('input');
  Object.assign(input, { id: name, name, autocomplete, maxLength, inputMode: 'numeric', type: 'text', required: true });
  input.setAttribute('aria-describedby', `${name}-fault`);
  input.spellcheck = false;
  const fault = document.createElement('p');
  Object.assign(fault, { id: `${name}-fault`, className: 'fault' });
  row.append(caption, input, fault);
  form.append(row);
  input.addEventListener('input', () => {
    keepCaret(input, name);
    if (input.getAttribute('aria-invalid') === 'true') showFault(name);
    sayOfCard(undefined);
    const empty = order.every((field) => inputs[field].value === '');
    say({ from: 'card-fields', kind: 'changed', empty });
  });
  input.addEventListener('blur', () => {
    if (input.value !== '') showFault(name);
  });
  return input;
}

function addParagraph(id: string, className: string): HTMLParagraphElement {
  const paragraph = document.createElement('p');
  Object.assign(paragraph, { id, className });
  form.append(paragraph);
  return paragraph;
}

// Spaces are added and removed around the caret, which stays behind the same digit.
function keepCaret(input: HTMLInputElement, name: Field): void {
  const caret = input.selectionStart ?? input.value.length;
  const digitsBefore = input.value.slice(0, caret).replace(/\D/g, '').length;
  const isAtEnd = caret === input.value.length;
  const grouped =
    name === 'number'
      ? groupNumber(input.value)
      : name === 'expiry'
        ? groupExpiry(input.value)
        : input.value.replace(/\D/g, '');
  if (grouped === input.value) return;
  input.value = grouped;
  let at = 0;
  for (let digits = 0; at < grouped.length && digits < digitsBefore; at++) if (/\d/.test(grouped[at] ?? '')) digits++;
  const next = isAtEnd ? grouped.length : at;
  input.setSelectionRange(next, next);
}

/** Shows what is wrong with a field; true if nothing is. */
function showFault(field: Field): boolean {
  const fault = checks[field]();
  inputs[field].setAttribute('aria-invalid', String(fault !== undefined));
  const place = document.getElementById(`${field}-fault`);
  if (place !== null) place.textContent = fault === undefined ? '' : strings[fault];
  return fault === undefined;
}
