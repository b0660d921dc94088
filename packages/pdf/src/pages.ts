import { linesOf } from '@eligo/values';
import { type EmbeddedFont, embeddedFont, shows, type Weight } from './embedded-fonts.ts';

/** A PDF document that is written from top to bottom. */
export interface PdfPages {
  title(text: string): void;
  heading(text: string): void;
  text(text: string): void;
  /** What somebody wrote, up to 10,000 characters. It is indented and each of its lines is marked, so that none of them looks like a text of the document. */
  quote(text: string): void;
  /** A text at the left, perhaps of several lines, and a value at the right, such as an amount. Both stay on one page. */
  row(name: string | readonly string[], value: string): void;
  /** Leaves a little room. */
  gap(): void;
  end(): Promise<Buffer>;
}

/**
 * Opens a document in US letter format, in the fonts that every reader has. They hold the characters of Western European languages. A text with others is in DejaVu
 * Sans, of which the characters used are embedded: those of Latin, Greek, Cyrillic, Armenian and Georgian scripts. Any other character is written as a question mark, and
 * the document says so at its end. The same content gives the same bytes.
 *
 * A title, a heading, a text and each line of a row is one line of words: line breaks in it are spaces, and what is longer than 500 characters ends in an ellipsis.
 */
export async function openPdf({ title, createdAt }: { title: string; createdAt: Date }): Promise<PdfPages> {
  // Loaded with the first document: most processes write none.
  const [{ default: PDFDocument }, { create }] = await Promise.all([import('pdfkit'), import('fontkit')]);
  const document = new PDFDocument({
    ...{ size: 'LETTER', margin, compress: true },
    // It keeps the layout of each rest of a word that it has measured.
    fontLayoutCache: false,
    info: { Title: title, CreationDate: createdAt },
  });
  const chunks: Buffer[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    document.on('data', (chunk: Buffer) => chunks.push(chunk));
    document.once('end', resolve).once('error', reject);
  });
  const width = document.page.width - 2 * margin;
  document.font(standard.regular).fontSize(bodySize);
  const embedded = new Set<Weight>();
  let hasMissing = false;

  /** Chooses the font of a text, and answers the text as this font shows it. */
  function inFont(weight: Weight, text: string): string {
    const composed = text.normalize('NFC').replaceAll(longRun, '$&\n');
    if (!beyondStandard.test(composed)) {
      document.font(standard[weight]);
      return composed;
    }
    const font = embeddedFont(weight, create);
    const shown = shownBy(font, composed);
    hasMissing ||= shown !== composed;
    if (!beyondStandard.test(shown)) document.font(standard[weight]);
    else {
      if (!embedded.has(weight)) document.registerFont(weight, font.bytes);
      embedded.add(weight);
      document.font(weight);
    }
    return shown;
  }

  const pages: PdfPages = {
    title(text) {
      document
        .fontSize(18)
        .text(inFont('bold', inShort(text)))
        .moveDown(0.5);
      document.font(standard.regular).fontSize(bodySize);
    },
    heading(text) {
      document
        .moveDown(0.8)
        .fontSize(12)
        .text(inFont('bold', inShort(text)), margin)
        .moveDown(0.3);
      document.font(standard.regular).fontSize(bodySize);
    },
    text(text) {
      document.text(inFont('regular', inShort(text)), margin, document.y, { width });
    },
    quote(text) {
      for (const line of linesOf(cut(text, mostOfQuote))) {
        document.text(inFont('regular', `| ${line}`), margin + indent, document.y, { width: width - indent });
      }
    },
    row(names, amount) {
      const [value, ...lines] = [amount, ...(typeof names === 'string' ? [names] : names)].map(inShort);
      const name = lines.join('\n');
      const left = { width: width - valueWidth - 5 };
      const height = document.heightOfString(inFont('regular', name), left);
      if (document.y > margin && document.y + height > document.page.height - margin) document.addPage();
      const top = document.y;
      document.text(inFont('regular', value ?? ''), margin + width - valueWidth, top, {
        width: valueWidth,
        align: 'right',
      });
      document.text(inFont('regular', name), margin, top, left);
      document.y += 3;
    },
    gap() {
      document.moveDown(0.3);
    },
    async end() {
      if (hasMissing) {
        pages.gap();
        pages.text('A question mark may stand for a character that this PDF cannot show.');
      }
      document.end();
      await ended;
      return Buffer.concat(chunks);
    },
  };
  return pages;
}

const standard = { regular: 'Helvetica', bold: 'Helvetica-Bold' } as const;
const margin = 54;
const bodySize = 10;
const valueWidth = 95;
const indent = 18;
const mostCharacters = 500;
const mostOfQuote = 10_000;

// Breaking a word that is longer than its line, pdfkit measures all that is left of it for each line.
const longRun = /\S{60}(?=\S)/gu;
const lineBreaks = /[\t\n\v\f\r\x85\u2028\u2029]+/g;

function inShort(text: string): string {
  return cut(text, mostCharacters).replaceAll(lineBreaks, ' ');
}

function cut(text: string, most: number): string {
  // Each character has one or two units.
  const characters = [...text.slice(0, 2 * most + 2)];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}

// The standard fonts are encoded as Windows-1252.
const beyondStandard = /[^\n\x20-\x7e\xa0-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/u;

function shownBy(font: EmbeddedFont, text: string): string {
  const characters = [...text].map((character) =>
    beyondStandard.test(character) && !shows(font, character) ? '?' : character,
  );
  return characters.join('');
}
