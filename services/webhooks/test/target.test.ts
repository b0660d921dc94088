import { describe, expect, it } from 'vitest';
import { checkAddresses, parseTarget, TargetRefused } from '../src/domain/target.ts';

const publicRules = { reach: 'public', ports: [443] } as const;
const loopbackRules = { reach: 'loopback', ports: [443] } as const;

describe('public targets', () => {
  it.each([
    'https://shop.example.com/hooks',
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07::1]/',
    'https://a.b.co:443/x?y=1#z',
  ])('takes %s', (text) => expect(parseTarget(text, publicRules).protocol).toBe('https:'));

  it.each([
    'http://shop.example.com/',
    'ftp://shop.example.com/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://user@shop.example.com/',
    'https://user:secret@shop.example.com/',
    'https://shop.example.com:22/',
    'https://localhost/',
    'https://localhost./',
    'https://api.localhost/',
    'https://intranet/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    '//shop.example.com/',
    'shop.example.com',
    '',
    `https://shop.example.com/${'a'.repeat(2100)}`,
  ])('refuses %s', (text) => expect(() => parseTarget(text, publicRules)).toThrow(TargetRefused));

  it('drops a fragment, which is never sent', () => {
    expect(parseTarget('https://shop.example.com/a#b', publicRules).href).toBe('https://shop.example.com/a');
  });

  it('takes another port when the operator allows it', () => {
    expect(parseTarget('https://shop.example.com:8443/', { reach: 'public', ports: [443, 8443] }).port).toBe('8443');
  });
});

describe('loopback targets', () => {
  it.each([
    'http://127.0.0.1:4000/x',
    'http://localhost:4000/',
    'http://[::1]:4000/',
    'https://shop.example.com:8443/',
  ])('takes %s', (text) => expect(parseTarget(text, loopbackRules).href).toBeTruthy());

  it.each([
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'http://[fd00::1]/',
    'http://0.0.0.0:80/',
    'http://redis:6379/',
  ])('still refuses %s', (text) => expect(() => parseTarget(text, loopbackRules)).toThrow(TargetRefused));
});

describe('resolved addresses', () => {
  it('refuses a name as soon as one of its addresses is not public', () => {
    expect(() => checkAddresses(['93.184.215.14', '10.0.0.1'], publicRules)).toThrow(TargetRefused);
  });

  it('refuses the metadata address of a cloud, which is public, and networks that the operator denies [D14.134]', () => {
    const denied = { ...publicRules, denied: ['198.18.0.0/15', '93.184.0.0/16', '2606:4700::/32'] };
    for (const rules of [publicRules, loopbackRules]) {
      expect(() => checkAddresses(['168.63.129.16'], rules)).toThrow(TargetRefused);
      expect(() => parseTarget('https://168.63.129.16/', rules)).toThrow(TargetRefused);
    }
    for (const address of ['93.184.215.14', '2606:4700::1111', '::ffff:93.184.215.14']) {
      expect(() => checkAddresses([address], denied)).toThrow(TargetRefused);
    }
    expect(() => checkAddresses(['93.185.215.14', '2606:4701::1'], denied)).not.toThrow();
  });

  it('refuses a name without an address', () => {
    expect(() => checkAddresses([], publicRules)).toThrow(TargetRefused);
  });
});
