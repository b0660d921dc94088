/** Stands in for a release of Stripe.js that does not take what the page gives. */
export const scriptThatRefuses = `globalThis.Stripe = () => ({
  elements() {
    throw new Error('Invalid value for elements(): paymentMethodTypes is not an accepted parameter');
  },
})`;

/**
 * Runs in the page: Stripe.js loads and fails later. `first_window`: the first window of the bank does not open. Otherwise no confirmation token is made: the call
 * `throws`, or its answer is an error of this type.
 */
export function breakStripe(how: string): void {
  interface Stripe {
    createConfirmationToken(given: unknown): Promise<unknown>;
    handleNextAction(given: unknown): Promise<unknown>;
  }
  const world = globalThis as unknown as { Stripe?: (...given: unknown[]) => Stripe };
  let made: typeof world.Stripe;
  let windows = 0;
  const broken = (stripe: Stripe): Stripe => ({
    ...stripe,
    async createConfirmationToken(given) {
      if (how === 'first_window') return stripe.createConfirmationToken(given);
      if (how === 'throws') throw new Error('elements is not of this Stripe');
      return { error: { type: how } };
    },
    async handleNextAction(given) {
      windows += 1;
      if (how === 'first_window' && windows === 1) throw new Error('The window is blocked');
      return stripe.handleNextAction(given);
    },
  });
  Object.defineProperty(world, 'Stripe', {
    get: () => made && ((...given: unknown[]) => broken((made as NonNullable<typeof made>)(...given))),
    set: (stripe: typeof made) => {
      made = stripe;
    },
  });
}
