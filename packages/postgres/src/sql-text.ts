/** One statement of a migration file: its text without the closing semicolon, and the line on which it begins. */
export interface SqlStatement {
  readonly text: string;
  readonly line: number;
}

/** Splits a file at the semicolons that end statements: not those in quotes, dollar quotes or comments. */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let start = 0;
  for (let at = 0; at < sql.length; ) {
    if (sql[at] === ';') {
      addStatement(statements, sql, start, at);
      at += 1;
      start = at;
    } else {
      at = skipToken(sql, at);
    }
  }
  addStatement(statements, sql, start, sql.length);
  return statements;
}

/** The statement with comments and the contents of quotes blanked, in lower case: what a rule may search without being fooled. */
export function bareText(sql: string): string {
  let bare = '';
  for (let at = 0; at < sql.length; ) {
    const end = skipToken(sql, at);
    const token = sql.slice(at, end);
    if (isComment(token)) bare += ' ';
    else if (token.length > 1 && (token.startsWith("'") || token.startsWith('$'))) bare += "''";
    else bare += token;
    at = end;
  }
  return bare.toLowerCase();
}

function addStatement(statements: SqlStatement[], sql: string, start: number, end: number): void {
  let from = start;
  // Leading blanks and comments belong to no statement, so that the line is that of its first word.
  while (from < end) {
    const next = skipToken(sql, from);
    const token = sql.slice(from, next);
    if (token.trim() !== '' && !isComment(token)) break;
    from = next;
  }
  const text = sql.slice(from, end).trim();
  if (text !== '') statements.push({ text, line: sql.slice(0, from).split('\n').length });
}

function isComment(token: string): boolean {
  return token.startsWith('--') || token.startsWith('/*');
}

/** Where the token that begins at `at` ends: a quoted text, a comment, or a single character. */
function skipToken(sql: string, at: number): number {
  const two = sql.slice(at, at + 2);
  if (two === '--') return endOf(sql, '\n', at + 2);
  if (two === '/*') return endOfBlockComment(sql, at + 2);
  const char = sql[at];
  if (char === "'" || char === '"') return endOf(sql, char, at + 1);
  const tag = char === '$' ? /^\$([a-z_][a-z0-9_]*)?\$/i.exec(sql.slice(at, at + 64))?.[0] : undefined;
  return tag === undefined ? at + 1 : endOf(sql, tag, at + tag.length);
}

// A doubled quote ends one text and begins the next, which comes to the same.
function endOf(sql: string, mark: string, from: number): number {
  const found = sql.indexOf(mark, from);
  return found === -1 ? sql.length : found + mark.length;
}

function endOfBlockComment(sql: string, from: number): number {
  let depth = 1;
  let at = from;
  while (at < sql.length && depth > 0) {
    const two = sql.slice(at, at + 2);
    if (two === '/*' || two === '*/') {
      depth += two === '/*' ? 1 : -1;
      at += 2;
    } else {
      at += 1;
    }
  }
  return at;
}
