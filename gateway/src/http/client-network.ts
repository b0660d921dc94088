/**
 * Where a client's requests are counted: its IPv4 address, or the /64 of its IPv6 address, which is the least that one subscriber has and holds
 * more addresses than could ever be counted one by one.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [before = '', after = ''] = address.split('%', 1).join('').split('::');
  const left = groupsOf(before);
  const right = groupsOf(after);
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':');
}
