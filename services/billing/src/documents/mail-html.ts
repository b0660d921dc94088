import { escapedHtml } from '@eligo/values';

/** What a mail about a subscription says. */
export interface Mail {
  readonly title: string;
  readonly testMode: boolean;
  readonly texts: readonly string[];
  /** Below the texts; null: no link. */
  readonly url: string | null;
  /** In small letters at the end. */
  readonly note?: string;
}

/** A mail as mail readers show it alike: inline style, nothing from elsewhere. */
export function mailHtml({ title, testMode, texts, url, note }: Mail): string {
  const link = url === null ? [] : [`<p><a href="${escapedHtml(url)}">${escapedHtml(url)}</a></p>`];
  const body = [
    `<h1 style="font-size:22px">${escapedHtml(title)}</h1>`,
    ...(testMode ? ['<p><strong>Test mode: no money is charged.</strong></p>'] : []),
    ...texts.map((text) => `<p>${escapedHtml(text)}</p>`),
    ...link,
    ...(note === undefined ? [] : [`<p style="color:#555;font-size:13px">${escapedHtml(note)}</p>`]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapedHtml(title)}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
${body.join('\n')}
</body></html>
`;
}

/** The subject of a mail with this title. */
export function mailSubject({ title, testMode }: Pick<Mail, 'title' | 'testMode'>): string {
  return `${testMode ? '[Test] ' : ''}${title}`;
}
