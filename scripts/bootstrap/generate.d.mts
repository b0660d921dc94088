export function generateCode(root: string): Promise<void>;
