/** The sentences of a Markdown document by the headings that they stand under: a table's rows count as one each, its head does not count. */
export function sentencesBySection(markdown: string): Map<string, string[]> {
  const sections = new Map<string, string[]>();
  let sentences: string[] = [];
  let block: string[] = [];
  const endBlock = () => {
    sentences.push(...sentencesOf(block.join(' ')));
    block = [];
  };
  const lines = markdown.split('\n');
  for (const [index, line] of lines.entries()) {
    const heading = /^#+ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) {
      endBlock();
      sentences = sections.get(heading) ?? [];
      sections.set(heading, sentences);
    } else if (isRow(line)) {
      endBlock();
      if (!isRule(line) && !isRule(lines[index + 1] ?? '')) sentences.push(rowText(line));
    } else {
      if (line.trim() === '' || listMark.test(line)) endBlock();
      block.push(line.replace(listMark, ''));
    }
  }
  endBlock();
  return sections;
}

/** Text as it is compared: what wraps where does not matter. */
export function flat(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

const listMark = /^\s*(?:\d+\.|[-*])\s+/;

function sentencesOf(text: string): string[] {
  const whole = flat(text);
  return whole === '' ? [] : whole.split(/(?<=[.!?]\)?)\s+(?=[\p{Lu}`*"])/u);
}

function isRow(line: string): boolean {
  return line.trimStart().startsWith('|');
}

function isRule(line: string): boolean {
  return /^\s*\|[\s|:-]+\|\s*$/.test(line) && line.includes('---');
}

function rowText(line: string): string {
  return flat(line.trim().replace(/^\||\|$/g, ''));
}
