import { openPdf } from '@eligo/pdf';
import { zonedDateInWords } from '@eligo/values';

/** What the document of an approved letter says. */
export interface LetterContent {
  readonly letterId: string;
  readonly merchantName: string;
  /** Null where neither the shop nor a card has a name. */
  readonly patient: string | null;
  readonly products: readonly string[];
  /** What the shopper answered, by the question; none where they are erased, or the letter was approved without them. */
  readonly answers: readonly (readonly [question: string, answer: string])[];
  readonly reviewer: { readonly name: string; readonly license: string; readonly state: string };
  readonly approvedAt: Date;
  readonly validUntil: Date;
  readonly timeZone: string;
  readonly testMode: boolean;
}

/** An approved letter of medical necessity as a plan administrator asks for it. */
export async function letterPdf(content: LetterContent): Promise<Buffer> {
  const { letterId, merchantName, patient, products, answers, reviewer, approvedAt, validUntil, timeZone } = content;
  const title = 'Letter of medical necessity';
  const pages = await openPdf({ title, createdAt: approvedAt });
  pages.title(title);
  if (content.testMode) {
    pages.text('Test mode: this letter certifies nothing.');
    pages.gap();
  }
  pages.text(`Patient: ${patient ?? 'not named'}`);
  for (const product of products) pages.text(`Product: ${product}`);
  pages.text(`Merchant: ${merchantName}`);
  pages.text(`Letter: ${letterId}`);
  pages.heading('As the patient stated');
  for (const [question, answer] of answers) {
    pages.text(`${named(question)}:`);
    pages.quote(answer);
  }
  const hasAnswers = answers.length > 0;
  if (!hasAnswers) pages.text('No answers of the patient are kept.');
  pages.heading('Approved');
  pages.text(`The reviewer approved the product${hasAnswers ? ' for the medical need that is stated above' : ''}.`);
  pages.gap();
  pages.text(`Reviewer: ${reviewer.name}`);
  pages.text(`License: ${reviewer.license} (${reviewer.state})`);
  pages.text(`Date: ${zonedDateInWords(approvedAt, timeZone)}`);
  pages.text(`Valid until: ${zonedDateInWords(validUntil, timeZone)}`);
  return pages.end();
}

function named(question: string): string {
  return question.charAt(0).toUpperCase() + question.slice(1).replaceAll('_', ' ');
}
