export function processIdentity(pid: number): string | undefined;
export function parentOf(pid: number): number | undefined;
export function commandOf(pid: number): string | undefined;
export function isAlive(pid: number, identity: string): boolean;
