import type { Frame, Page } from 'playwright-core';

/** What a screen reader is told of a page: its language and title, where the focus is, and the names, roles and states of all that is in it and in its frames. */
export async function readingOf(page: Page): Promise<string> {
  const frames = page.frames().filter((frame) => frame !== page.mainFrame());
  const [main, parts] = await Promise.all([
    readingOfFrame(page.mainFrame()),
    Promise.all(
      frames.map(async (frame) => {
        const title = await (await frame.frameElement()).getAttribute('title');
        return `frame: ${title}\n${await readingOfFrame(frame)}`;
      }),
    ),
  ]);
  // The browser lists frames in the order in which they were attached, which is not always the same.
  return `${withoutChance([main, ...parts.sort()].join('\n---\n'))}\n`;
}

async function readingOfFrame(frame: Frame): Promise<string> {
  const { language, title, focus, described } = await frame.evaluate(situation);
  const tree = await frame.locator('body').ariaSnapshot();
  return [
    ...[`title: ${title}`, `language: ${language}`, `focus: ${focus}`],
    ...described.map((one) => `described: ${one}`),
    ...tree.split('\n').filter(isRead),
  ].join('\n');
}

// Addresses are not read aloud.
const isRead = (line: string) => !/^\s*- \/url:/.test(line);

// What differs from run to run.
function withoutChance(text: string): string {
  return text
    .replaceAll(/\b(?:[A-Z0-9]{8}-\d{4})\b/g, 'INVOICE')
    .replaceAll(/\bf[a-z]+_[0-9a-z]{20,}\b/g, 'ID')
    .replaceAll(
      /\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}, \d{4}\b/g,
      'DAY',
    )
    .replaceAll(/\b\d{1,2} de [a-z]+ de \d{4}\b/g, 'DAY');
}

// Runs in the browser.
function situation(): { language: string; title: string; focus: string; described: string[] } {
  const { document } = globalThis as unknown as {
    document: {
      title: string;
      documentElement: { lang: string };
      querySelectorAll(selector: string): Iterable<{ id: string; getAttribute(name: string): string | null }>;
      getElementById(id: string): { textContent: string } | null;
      activeElement: { tagName: string; id: string; textContent: string; title: string } | null;
    };
  };
  const { activeElement: at } = document;
  const tag = at?.tagName.toLowerCase() ?? 'body';
  const name = at === null || tag === 'body' ? '' : at.title || at.id || at.textContent.trim().slice(0, 60);
  const described = [...document.querySelectorAll('[aria-describedby]')].map((one) => {
    const by = (one.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id));
    return `${one.id}: ${by.map((text) => text?.textContent ?? 'nothing').join(' ')}`;
  });
  return {
    ...{ language: document.documentElement.lang, title: document.title, focus: `${tag} ${name}`.trim() },
    described,
  };
}
