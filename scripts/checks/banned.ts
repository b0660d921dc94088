interface Ban {
  readonly pattern: RegExp;
  readonly why: string;
  /** Files that may. */
  readonly except?: RegExp;
}

// The patterns are written so that this file does not contain what it forbids.
const bans: Ban[] = [
  {
    pattern: /\.commit\(|\bknex\.transaction\(/,
    why: 'use withTx for transactions; other calls hide a failed COMMIT',
    except: /^packages\/postgres\//,
  },
  {
    pattern: /@ts-(?:ig{1}nore|nocheck|expect-error)|bio{1}me-ignore lint|eslint-dis{1}able/,
    why: 'fix the error instead of suppressing it',
  },
  { pattern: /\b(?:TO{1}DO|FIX{1}ME)\b/, why: 'open an issue instead of leaving a note' },
  { pattern: /\b(?:it|test|describe)\.(?:skip|only|todo)\b/, why: 'run the test or delete it' },
  { pattern: /\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}/, why: 'say why the error may be ignored' },
];

const longestFileLines = 400;

/** The findings in one file, each as `file:line: why`. */
export function bannedIn(file: string, text: string): string[] {
  const lines = text.split('\n');
  const found = lines.flatMap((line, index) =>
    bans
      .filter((ban) => ban.pattern.test(line) && !ban.except?.test(file))
      .map((ban) => `${file}:${index + 1}: ${ban.why}`),
  );
  if (lines.length > longestFileLines + 1) {
    found.push(
      `${file}: ${lines.length - 1} lines; a file may have at most ${longestFileLines}, so split it by question`,
    );
  }
  return found;
}
