/** Stripe's codes of one trouble that a shopper can do something about, under the name of its text. What is not here is said in general. */
const sameTrouble: Readonly<Record<string, readonly string[]>> = {
  authentication_failed: ['payment_intent_authentication_failure', 'setup_intent_authentication_failure'],
  incorrect_number: ['invalid_number'],
  incorrect_cvc: ['invalid_cvc'],
  incorrect_expiry: ['invalid_expiry_month', 'invalid_expiry_year'],
  incorrect_zip: ['postal_code_invalid'],
  card_not_supported: ['currency_not_supported'],
  card_limit: ['card_velocity_exceeded', 'withdrawal_count_limit_exceeded'],
  processing_error: ['issuer_not_available', 'reenter_transaction', 'try_again_later'],
  test_card: ['live_mode_test_card', 'testmode_decline'],
  real_card: ['test_mode_live_card'],
};

const textNames = new Map(
  Object.entries(sameTrouble).flatMap(([name, codes]) => codes.map((code) => [code, name] as const)),
);

/** The text for the codes of a decline, the most precise first; undefined where none of them has one. */
export function declineText(
  texts: Readonly<Record<string, string>>,
  codes: readonly (string | null)[],
): string | undefined {
  for (const code of codes) {
    const name = code === null ? undefined : (textNames.get(code) ?? code);
    if (name !== undefined && Object.hasOwn(texts, name)) return texts[name];
  }
  return undefined;
}
