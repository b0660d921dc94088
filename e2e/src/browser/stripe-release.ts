import type {
  Appearance,
  CreateConfirmationToken,
  PaymentWalletsOption,
  ReleaseTrain,
  StripeConstructorOptions,
  StripeElementsOptionsMode,
  StripeElementsUpdateOptions,
  StripePaymentElementOptions,
  StripePaymentElementUpdateOptions,
} from '@stripe/stripe-js';

/** The release whose calls the tests know: the compiler compares each list of names with the types of Stripe's package for it. */
export const knownRelease: ReleaseTrain = 'endive';

type NamesOf<Options> = Options extends unknown ? keyof Options : never;
const namesOf = <Options>(names: Record<NamesOf<Options>, true>): readonly string[] => Object.keys(names);

/** What each call of Stripe.js takes. */
export const takenNames = {
  Stripe: namesOf<StripeConstructorOptions>({
    ...{ stripeAccount: true, apiVersion: true, locale: true, betas: true, developerTools: true },
  }),
  elements: namesOf<Omit<Extract<StripeElementsOptionsMode, { mode: 'payment' }>, 'clientSecret'>>({
    ...{ mode: true, amount: true, currency: true, locale: true, fonts: true, appearance: true, loader: true },
    ...{ allowedPaymentMethodTypes: true, excludedPaymentMethodTypes: true, externalPaymentMethodTypes: true },
    ...{ setupFutureUsage: true, setup_future_usage: true, captureMethod: true, capture_method: true },
    ...{ onBehalfOf: true, on_behalf_of: true, paymentMethodOptions: true, payment_method_options: true },
    ...{ paymentMethodConfiguration: true, payment_method_configuration: true, paymentMethodCreation: true },
    ...{ customerOptions: true, customerSessionClientSecret: true, customPaymentMethods: true },
    ...{ syncAddressCheckbox: true, adaptivePricing: true },
  }),
  update: namesOf<StripeElementsUpdateOptions>({
    ...{ mode: true, amount: true, currency: true, locale: true, fonts: true, appearance: true },
    ...{ allowedPaymentMethodTypes: true, excludedPaymentMethodTypes: true },
    ...{ setupFutureUsage: true, setup_future_usage: true, captureMethod: true, capture_method: true },
    ...{ onBehalfOf: true, on_behalf_of: true },
    ...{ paymentMethodConfiguration: true, payment_method_configuration: true },
    ...{ customerSessionClientSecret: true, customPaymentMethods: true },
  }),
  appearance: namesOf<Appearance>({
    ...{ disableAnimations: true, theme: true, variables: true, rules: true, labels: true, inputs: true },
  }),
  create: namesOf<StripePaymentElementOptions>({
    ...{ defaultValues: true, business: true, paymentMethodOrder: true, fields: true, readOnly: true, terms: true },
    ...{ wallets: true, walletOptions: true, layout: true, applePay: true },
  }),
  wallets: namesOf<PaymentWalletsOption>({ applePay: true, googlePay: true, link: true }),
  'element.update': namesOf<StripePaymentElementUpdateOptions>({
    ...{ defaultValues: true, business: true, paymentMethodOrder: true, fields: true, readOnly: true, terms: true },
    ...{ walletOptions: true, layout: true, applePay: true },
  }),
  createConfirmationToken: namesOf<CreateConfirmationToken>({ elements: true, params: true }),
  params: namesOf<NonNullable<CreateConfirmationToken['params']>>({
    ...{ payment_method_data: true, return_url: true, shipping: true, metadata: true },
  }),
  // Of an intent; what Stripe.js also takes for tokens of agents is nothing of ours.
  handleNextAction: ['clientSecret'],
} as const;

/** Refuses a name or a value that a call does not take, as Stripe.js does. Runs in the page. */
export type Refuse = (call: keyof typeof takenNames, given: unknown) => void;

/** Makes `Refuse`. Its text runs in the page, in the place of Stripe.js, so it takes all that it needs. */
export function refuseBy(taken: typeof takenNames): Refuse {
  const fail = (call: string, what: string): never => {
    throw Object.assign(new Error(`Invalid value for ${call}(): ${what}`), { name: 'IntegrationError' });
  };
  const oneOf =
    (...values: unknown[]) =>
    (value: unknown) =>
      values.includes(value);
  const isText = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
  const isAmount = (value: unknown) => Number.isInteger(value) && Number(value) > 0;
  const isTypes = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText(/^[a-z_]+$/));
  // The values that the page gives; a name without an entry here takes what it is given.
  const values: Record<string, Record<string, (value: unknown) => boolean>> = {
    Stripe: { stripeAccount: isText(/^acct_\w+$/) },
    elements: {
      ...{ mode: oneOf('payment', 'setup'), amount: isAmount, currency: isText(/^[a-z]{3}$/) },
      ...{ allowedPaymentMethodTypes: isTypes, locale: oneOf('auto', 'en', 'es') },
      setupFutureUsage: oneOf('off_session', 'on_session', null),
      captureMethod: oneOf('automatic', 'automatic_async', 'manual'),
    },
    update: {
      amount: isAmount,
      captureMethod: oneOf('automatic', 'automatic_async', 'manual'),
      locale: oneOf('auto', 'en', 'es'),
      allowedPaymentMethodTypes: isTypes,
    },
    appearance: { theme: oneOf('stripe', 'night', 'flat') },
    create: { layout: oneOf('tabs', 'accordion', 'auto'), readOnly: oneOf(true, false) },
    wallets: { applePay: oneOf('auto', 'never'), googlePay: oneOf('auto', 'never'), link: oneOf('auto', 'never') },
    'element.update': { readOnly: oneOf(true, false) },
    params: { return_url: isText(/^https?:\/\//) },
    handleNextAction: { clientSecret: isText(/^(pi|seti)_\w+_secret_\w+$/) },
  };
  const refuse: Refuse = (call, given) => {
    if (typeof given !== 'object' || given === null) return fail(call, `${given} is not an object`);
    for (const [name, value] of Object.entries(given)) {
      if (!(taken[call] as readonly string[]).includes(name)) fail(call, `${name} is not an accepted parameter`);
      if (values[call]?.[name]?.(value) === false) fail(call, `${name} should not be ${JSON.stringify(value)}`);
      // Options within options.
      if (name === 'appearance' || name === 'wallets' || name === 'params') refuse(name, value);
    }
    const { mode, amount, currency } = given as { mode?: string; amount?: number; currency?: string };
    if (call !== 'elements') return;
    if (mode === undefined || currency === undefined) fail(call, 'mode and currency are required');
    if ((mode === 'payment') !== (amount !== undefined)) fail(call, `amount does not go with mode ${mode}`);
  };
  return refuse;
}
