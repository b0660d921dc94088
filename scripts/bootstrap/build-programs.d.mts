export function buildPrograms(root: string): Promise<void>;
