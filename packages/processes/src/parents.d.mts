export function ancestry(options?: { withSelf?: boolean }): string;
export function watchParents(onGone: () => void, everyMs?: number): () => void;
