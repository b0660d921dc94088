export function installPackages(root: string): Promise<void>;
export function isInstalled(root: string): boolean;
