import { closeSync, existsSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { copyFile, rm, stat, truncate } from 'node:fs/promises';

/** A log that this process writes. */
export interface LogFile {
  /** Writes a line; does nothing once the log is closed. */
  write(line: string): void;
  close(): void;
}

/** A log of this size is moved aside, and only the last is kept: a log has twice as much on disk. */
export const largestLogBytes = 32 * 1024 * 1024;

/**
 * Opens a log of bounded size. A line that cannot be written, because the disk is full, is dropped; the next line that can be written follows one
 * that has their number.
 */
export function openLogFile(
  path: string,
  { largestBytes = largestLogBytes, append: appendTo = writeText, open = openToAppend, close = closeSync } = {},
): LogFile {
  let file = open(path);
  let bytes = statSync(path).size;
  let dropped = 0;
  let isClosed = false;

  function append(text: string): void {
    bytes += appendTo(file, text);
  }

  // A failure between the two steps leaves no file at the path: the next line opens one.
  function moveAside(): void {
    if (existsSync(path)) renameSync(path, `${path}.1`);
    const full = file;
    file = open(path);
    bytes = 0;
    try {
      close(full);
    } catch {
      // The system has let go of it all the same.
    }
  }

  return {
    write(line) {
      // By now the number of the file can be that of another file or of a socket.
      if (isClosed) return;
      try {
        if (bytes >= largestBytes) moveAside();
        if (dropped > 0) append(droppedLine(dropped));
        dropped = 0;
        append(line);
      } catch {
        // There is no other place to report it, and no log is worth the process.
        dropped += 1;
      }
    },
    close() {
      isClosed = true;
      close(file);
    },
  };
}

function openToAppend(path: string): number {
  return openSync(path, 'a', 0o600);
}

function writeText(file: number, text: string): number {
  return writeSync(file, text);
}

function droppedLine(count: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, service: 'stack', count, msg: 'Log lines could not be written' })}\n`;
}

/**
 * Keeps a log bounded that another process appends to: a large one is copied aside and emptied. Returns what ends the watch.
 */
export function boundLog(path: string, { largestBytes = largestLogBytes, everyMs = 5_000 } = {}): () => void {
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void emptyIfLarge(path, largestBytes).finally(() => {
      isBusy = false;
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function emptyIfLarge(path: string, largestBytes: number): Promise<void> {
  try {
    if ((await stat(path)).size < largestBytes) return;
    try {
      await copyFile(path, `${path}.1`);
    } catch {
      // The disk has no room for two: a bounded log is worth more than its older half.
      await rm(`${path}.1`, { force: true });
    }
    await truncate(path);
  } catch {
    // The log is gone; the next look finds it or not.
  }
}
