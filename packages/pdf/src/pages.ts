/** A PDF document that is written from top to bottom. */
export interface PdfPages {
  title(text: string): void;
  heading(text: string): void;
  text(text: string): void;
  /** A text at the left, and a value at the right, such as an amount. Both stay on one page. */
  row(name: string, value: string): void;
  /** Leaves a little room. */
  gap(): void;
  end(): Promise<Buffer>;
}

/**
 * Opens a document in US letter format, in the fonts that every reader has. They hold the characters of Western European languages; any other
 * character is written as a question mark. The same content gives the same bytes.
 */
export async function openPdf({ title, createdAt }: { title: string; createdAt: Date }): Promise<PdfPages> {
  // Loaded with the first document: most processes write none.
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({
    ...{ size: 'LETTER', margin, compress: true },
    info: { Title: plain(title), CreationDate: createdAt },
  });
  const chunks: Buffer[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    document.on('data', (chunk: Buffer) => chunks.push(chunk));
    document.once('end', resolve).once('error', reject);
  });
  const width = document.page.width - 2 * margin;
  document.font('Helvetica').fontSize(bodySize);
  return {
    title(text) {
      document.font('Helvetica-Bold').fontSize(18).text(plain(text)).moveDown(0.5);
      document.font('Helvetica').fontSize(bodySize);
    },
    heading(text) {
      document.moveDown(0.8).font('Helvetica-Bold').fontSize(12).text(plain(text), margin).moveDown(0.3);
      document.font('Helvetica').fontSize(bodySize);
    },
    text(text) {
      document.text(plain(text), margin, document.y, { width });
    },
    row(name, value) {
      const left = { width: width - valueWidth - 5 };
      const height = document.heightOfString(plain(name), left);
      if (document.y > margin && document.y + height > document.page.height - margin) document.addPage();
      const top = document.y;
      document.text(plain(value), margin + width - valueWidth, top, { width: valueWidth, align: 'right' });
      document.text(plain(name), margin, top, left);
      document.y += 3;
    },
    gap() {
      document.moveDown(0.3);
    },
    async end() {
      document.end();
      await ended;
      return Buffer.concat(chunks);
    },
  };
}

const margin = 54;
const bodySize = 10;
const valueWidth = 95;

// The standard fonts are encoded as Windows-1252.
function plain(text: string): string {
  return text.replaceAll(/[^\n\x20-\x7e\xa0-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/gu, '?');
}
