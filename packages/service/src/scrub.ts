/**
 * Takes what must never be logged out of a text: secrets by their shape, card numbers, addresses of people. The last line of defence behind
 * the list of fields that may be logged at all.
 */
export function scrub(text: string): string {
  let clean = text;
  for (const pattern of secretPatterns) clean = clean.replace(pattern, withheld);
  return clean.replace(digitRuns, (run) => (isCardNumber(run) ? withheld : run));
}

/** What stands where something was taken out. */
export const withheld = '[withheld]';

/** The text of an error without what it quotes: values of callers come quoted in the messages of Postgres, JSON and Node. */
export function scrubMessage(message: string): string {
  const unquoted = message.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, withheld).replace(/=\([^)]*\)/g, `=(${withheld})`);
  return scrub(unquoted.length > longestMessage ? `${unquoted.slice(0, longestMessage)}…` : unquoted);
}

const longestMessage = 500;

const secretPatterns = [
  // API keys (a live one has no word for its mode), the processor's keys, webhook secrets.
  /\bfsk_[A-Za-z0-9]{16,}/g,
  /\b[a-z]{2,12}_(?:test|live)_[A-Za-z0-9]{8,}/g,
  /\bwhsec_[A-Za-z0-9+/=_-]{8,}/g,
  /\bBearer\s+[^\s"\\]+/gi,
  // Keys and tokens of our own: sealed values, signed tokens, PKCS 8.
  /\bsealed1\.[\w-]+\.[\w-]+/g,
  /\b[\w-]{40,}\.[\w-]{80,}/g,
  /\bMC4CAQAwBQYDK2Vw[A-Za-z0-9+/=]+/g,
  // Passwords inside URLs.
  /\/\/[^/\s:@"]*:[^/\s@"]+@/g,
  // E-mail addresses.
  /[\w.+-]+@[\w-]+\.[\w.-]+/g,
];

const digitRuns = /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g;

/** Whether a run of 13 to 19 digits, spaced or not, has a card number's check digit. */
export function isCardNumber(run: string): boolean {
  const digits = run.replace(/\D/g, '');
  if (digits.length < 13 || digits.length > 19) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = Number(digits[digits.length - 1 - at]);
    const doubled = at % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
