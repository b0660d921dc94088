/** The same server and database, reached as another role. */
export function roleUrl(url: string, role: string, password?: string): string {
  const target = new URL(url);
  target.username = role;
  target.password = password ?? '';
  return target.href;
}
