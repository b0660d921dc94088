import type { Constellation } from '@eligo/testkit';
import type { BrowserContext, Route } from 'playwright-core';
import { knownRelease, type Refuse, refuseBy, takenNames } from './stripe-release.ts';

/** What the page said to Stripe.js, in order: the name of the call and its arguments. */
export type StripeCalls = readonly (readonly [string, ...unknown[]])[];

/**
 * Stands in for Stripe's servers in a browser: the script and the frames of js.stripe.com, the call by which a frame makes a confirmation token, which the
 * sandbox makes, and the call by which the bank's frame answers. The script refuses what Stripe.js of its release does not take. Everything above the network
 * is the page's own.
 */
export async function answerForStripe(context: BrowserContext, eligo: Constellation): Promise<void> {
  await context.route('https://js.stripe.com/**', (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === `/${knownRelease}/stripe.js`) {
      const refuse = `(${refuseBy.toString()})(${JSON.stringify(takenNames)})`;
      return route.fulfill({ contentType: 'text/javascript', body: `(${script.toString()})(${refuse})` });
    }
    // Another release, or a script of which nobody knows what it takes.
    if (pathname.endsWith('.js')) return route.abort();
    const body =
      pathname === '/challenge.html'
        ? `${bank}<script>(${bankScript.toString()})()</script>`
        : `${frame}<script>(${frameScript.toString()})()</script>`;
    return route.fulfill({ contentType: 'text/html', body });
  });
  await context.route('https://api.stripe.com/**', (route) =>
    route.request().url().endsWith('/authenticate') ? answerBank(route, eligo) : makeToken(route, eligo),
  );
}

async function answerBank(route: Route, { sandbox }: Constellation): Promise<void> {
  const sent = new URLSearchParams(route.request().postData() ?? '');
  const [intentId] = (sent.get('client_secret') ?? '').split('_secret_');
  await sandbox('POST', `/sandbox/authentications/${intentId}`, { outcome: sent.get('outcome') ?? '' });
  await route.fulfill({ headers: { 'access-control-allow-origin': '*' }, body: '{}' });
}

async function makeToken(route: Route, { processor: { url, key }, sandbox }: Constellation): Promise<void> {
  const sent = new URLSearchParams(route.request().postData() ?? '');
  const response = await fetch(`${url}/v1/test_helpers/confirmation_tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'stripe-account': sent.get('account') ?? '' },
    body: new URLSearchParams({
      'payment_method_data[type]': 'card',
      'payment_method_data[card][number]': sent.get('number') ?? '',
      'payment_method_data[card][exp_month]': '12',
      'payment_method_data[card][exp_year]': '2039',
      'payment_method_data[card][cvc]': '123',
      ...(sent.get('setup_future_usage') ? { setup_future_usage: sent.get('setup_future_usage') ?? '' } : {}),
    }),
  });
  const body = await response.text();
  const captureMethod = sent.get('capture_method');
  // What the elements were told, which Stripe compares with the intent's.
  if (response.ok && captureMethod) {
    const { id } = JSON.parse(body) as { id: string };
    await sandbox('POST', `/sandbox/tokens/${id}/elements`, { capture_method: captureMethod });
  }
  await route.fulfill({
    status: response.status,
    headers: { 'access-control-allow-origin': '*' },
    contentType: 'application/json',
    body,
  });
}

const frame = `<!doctype html><html lang="en"><title>Card</title><body>
  <label for="number">Card number</label> <input id="number" style="font-size: 16px; min-height: 24px">`;

const bank = `<!doctype html><html lang="en"><title>Bank</title><body>
  <button id="success" style="min-height: 24px">Complete</button> <button id="failure" style="min-height: 24px">Fail</button>`;

interface Settings {
  readonly mode?: string;
  readonly setupFutureUsage?: string;
  readonly captureMethod?: string;
}
interface FrameAnswer {
  readonly ready?: boolean;
  readonly empty?: boolean;
  readonly token?: object;
  readonly error?: object;
}

// Runs in the page, in the place of Stripe.js.
function script(refuse: Refuse): void {
  type Handler = (given?: object) => void;
  const world = globalThis as unknown as {
    stripeCalls: [string, ...unknown[]][];
    Stripe: unknown;
    document: {
      createElement(name: string): {
        contentWindow: { postMessage(message: unknown, origin: string): void };
        src: string;
        title: string;
        remove(): void;
      };
      querySelector(name: string): { append(child: unknown): void };
    };
    addEventListener(
      name: string,
      handler: (event: { origin: string; source: unknown; data: FrameAnswer }) => void,
    ): void;
  };
  const origin = 'https://js.stripe.com';
  world.stripeCalls = [];
  const note = (name: string, ...given: unknown[]) => world.stripeCalls.push([name, ...given]);
  world.Stripe = (key: string, options: { stripeAccount?: string }) => {
    refuse('Stripe', options);
    if (!/^pk_(live|test)_/.test(key)) throw new Error(`Invalid value for Stripe(): apiKey should not be ${key}`);
    note('Stripe', key, options);
    return {
      elements(given: Settings) {
        let settings = given;
        refuse('elements', settings);
        note('elements', settings);
        const element = world.document.createElement('iframe');
        element.title = 'Secure payment input frame';
        element.src = `${origin}/elements-inner.html`;
        const handlers: Record<string, Handler> = {};
        let isEmpty = true;
        let isSubmitted = false;
        let answered: (answer: FrameAnswer) => void = () => undefined;
        world.addEventListener('message', ({ origin: from, source, data }) => {
          if (from !== origin || source !== element.contentWindow) return;
          if (data.ready) handlers.ready?.();
          else if (data.empty === undefined) answered(data);
          else {
            isEmpty = data.empty;
            isSubmitted = false;
            note('change', isEmpty);
            handlers.change?.({ empty: isEmpty });
          }
        });
        return {
          create: (type: string, given: unknown) => {
            if (type !== 'payment') throw new Error(`A valid Element name must be provided, not ${type}`);
            refuse('create', given);
            note('create', type, given);
            return {
              on(event: string, handler: Handler) {
                if (!['ready', 'loaderror', 'change'].includes(event)) throw new Error(`${event} is not an event`);
                handlers[event] = handler;
              },
              mount: (place: { append(child: unknown): void }) => place.append(element),
              update: (change: unknown) => refuse('element.update', change),
              destroy: () => element.remove(),
            };
          },
          update: (change: object) => {
            refuse('update', change);
            settings = { ...settings, ...change };
            note('update', change);
          },
          submit: async () => {
            isSubmitted = true;
            return isEmpty ? { error: { type: 'validation_error' } } : {};
          },
          tokenize: () =>
            new Promise<FrameAnswer>((resolve) => {
              if (!isSubmitted) throw new Error('elements.submit() must be called before createConfirmationToken()');
              answered = resolve;
              const { mode, setupFutureUsage: usage, captureMethod = 'automatic' } = settings;
              const capture = mode === 'payment' ? captureMethod : '';
              element.contentWindow.postMessage({ account: options.stripeAccount, usage, capture }, origin);
            }),
        };
      },
      async createConfirmationToken(given: { elements: { tokenize(): Promise<FrameAnswer> } }) {
        refuse('createConfirmationToken', given);
        const { token, error } = await given.elements.tokenize();
        return token === undefined ? { error } : { confirmationToken: token };
      },
      async handleNextAction(given: { clientSecret: string }) {
        refuse('handleNextAction', given);
        note('handleNextAction');
        const { clientSecret } = given;
        const element = world.document.createElement('iframe');
        element.title = 'Stripe 3D Secure frame';
        element.src = `${origin}/challenge.html#${clientSecret}`;
        world.document.querySelector('body').append(element);
        return new Promise<object>((resolve) =>
          world.addEventListener('message', ({ origin: from, source, data }) => {
            if (from !== origin || source !== element.contentWindow) return;
            element.remove();
            resolve(data);
          }),
        );
      },
    };
  };
}

// Runs in the frame, which alone knows the number.
function frameScript(): void {
  const world = globalThis as unknown as {
    document: {
      querySelector(name: string): { value: string; addEventListener(name: string, heard: () => void): void };
    };
    parent: { postMessage(message: FrameAnswer, origin: string): void };
    addEventListener(
      name: string,
      heard: (event: { data: { account: string; usage?: string; capture: string } }) => void,
    ): void;
  };
  const input = world.document.querySelector('input');
  const say = (message: FrameAnswer) => world.parent.postMessage(message, '*');
  input.addEventListener('input', () => say({ empty: input.value === '' }));
  world.addEventListener('message', async ({ data: { account, usage = '', capture } }) => {
    const number = input.value.replaceAll(' ', '');
    const response = await fetch('https://api.stripe.com/v1/confirmation_tokens', {
      method: 'POST',
      body: new URLSearchParams({ number, account, setup_future_usage: usage, capture_method: capture }),
    });
    const answer = (await response.json()) as { error?: object };
    say(response.ok ? { token: answer } : { error: answer.error ?? {} });
  });
  say({ ready: true });
}

// Runs in the bank's frame.
function bankScript(): void {
  const world = globalThis as unknown as {
    document: { querySelector(name: string): { addEventListener(name: string, heard: () => void): void } };
    parent: { postMessage(message: object, origin: string): void };
    location: { hash: string };
  };
  for (const outcome of ['success', 'failure']) {
    world.document.querySelector(`#${outcome}`).addEventListener('click', async () => {
      await fetch('https://api.stripe.com/v1/3ds2/authenticate', {
        method: 'POST',
        body: new URLSearchParams({ client_secret: world.location.hash.slice(1), outcome }),
      });
      const error = { code: 'payment_intent_authentication_failure' };
      world.parent.postMessage(outcome === 'success' ? {} : { error }, '*');
    });
  }
}
