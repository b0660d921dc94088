import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes a folder durable, with everything in it: what was written may otherwise be in memory alone, and be gone after a power loss. */
export async function syncTree(path: string, sync: (path: string) => Promise<void> = syncPath): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) await syncTree(inside, sync);
    else if (entry.isFile()) await sync(inside);
  }
  // The names of the files are the folder's own content.
  await syncFolder(path, sync);
}

/** Makes the names in a folder durable, where its file system can be told to, and a folder that others own may be opened. */
export async function syncFolder(path: string, sync: (path: string) => Promise<void> = syncPath): Promise<void> {
  try {
    await sync(path);
  } catch (error) {
    if (!untold.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

// Network file systems and some of those in user space take no fsync of a folder. A folder that one may write to need not be one to read.
const untold = new Set(['EINVAL', 'EBADF', 'EACCES']);

/** Makes a file durable, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
