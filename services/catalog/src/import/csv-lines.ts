/** A record of a CSV file: its fields and the line on which it begins. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** Bytes of one record at most: a file with a quote that is never closed must not be read into memory. */
const longestRecord = 1_000_000;

/** Reads CSV (RFC 4180: fields in quotes may hold commas, quotes and line ends) as it arrives. Blank lines are left out. */
export async function* csvRecords(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<CsvRecord[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let line = 1;
  for await (const chunk of source) {
    const text = rest + (typeof chunk === 'string' ? chunk : decoded(decoder, line, chunk));
    const end = wholeUntil(text);
    rest = text.slice(end);
    if (rest.length > longestRecord)
      throw new RangeError(`line ${line}: the record is longer than ${longestRecord} characters`);
    const records: CsvRecord[] = [];
    line = addRecords(text.slice(0, end), line, records);
    yield records;
  }
  const records: CsvRecord[] = [];
  addRecords(`${rest}${decoded(decoder, line)}\n`, line, records);
  yield records;
}

function decoded(decoder: InstanceType<typeof TextDecoder>, line: number, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (error) {
    throw new RangeError(`the list is not UTF-8 text (at line ${line} or later)`, { cause: error });
  }
}

// The end of the last line that is not inside quotes.
function wholeUntil(text: string): number {
  const last = text.lastIndexOf('\n') + 1;
  if (!text.includes('"')) return last;
  let isQuoted = false;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) isQuoted = !isQuoted;
    else if (code === newline && !isQuoted) end = at + 1;
  }
  return end;
}

const quote = 34;
const newline = 10;

function addRecords(text: string, firstLine: number, records: CsvRecord[]): number {
  let line = firstLine;
  let at = 0;
  while (at < text.length) {
    let end = text.indexOf('\n', at);
    const begun = line;
    line += 1;
    let record = text.slice(at, end);
    // A quote that is open at the end of the line continues on the next.
    while (record.includes('"') && (record.split('"').length - 1) % 2 === 1 && end !== text.length - 1) {
      end = text.indexOf('\n', end + 1);
      line += 1;
      record = text.slice(at, end);
    }
    at = end + 1;
    const bare = record.endsWith('\r') ? record.slice(0, -1) : record;
    if (bare.trim() !== '')
      records.push({ line: begun, fields: bare.includes('"') ? quotedFields(bare) : bare.split(',') });
  }
  return line;
}

function quotedFields(record: string): string[] {
  const fields: string[] = [];
  let at = 0;
  while (at <= record.length) {
    if (record.charAt(at) === '"') {
      let field = '';
      let from = at + 1;
      let end = record.indexOf('"', from);
      while (end !== -1 && record.charAt(end + 1) === '"') {
        field += record.slice(from, end + 1);
        from = end + 2;
        end = record.indexOf('"', from);
      }
      if (end === -1) end = record.length;
      fields.push(field + record.slice(from, end));
      const comma = record.indexOf(',', end);
      at = comma === -1 ? record.length + 1 : comma + 1;
    } else {
      const comma = record.indexOf(',', at);
      const end = comma === -1 ? record.length : comma;
      fields.push(record.slice(at, end));
      at = end + 1;
    }
  }
  return fields;
}
