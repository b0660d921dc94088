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
    why: 'withTx is the only way to a transaction: others hide a COMMIT that failed',
    except: /^packages\/postgres\//,
  },
  {
    pattern: /@ts-(?:ig{1}nore|nocheck|expect-error)|bio{1}me-ignore lint|eslint-dis{1}able/,
    why: 'errors are mended, not suppressed',
  },
  { pattern: /\b(?:TO{1}DO|FIX{1}ME)\b/, why: 'what is to be done stands in an issue' },
  { pattern: /\b(?:it|test|describe)\.(?:skip|only|todo)\b/, why: 'a test runs, or does not exist' },
  { pattern: /\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}/, why: 'an error that may be ignored says why' },
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
    found.push(`${file}: ${lines.length - 1} lines; above ${longestFileLines} a file answers more than one question`);
  }
  return found;
}
