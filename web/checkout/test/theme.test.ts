import fc from 'fast-check';
import { expect, it } from 'vitest';
import { textOn } from '../src/theme.ts';

it('text on any color of a shop can be read: at least 4.5 to 1 [D14.84]', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const color = `#${value.toString(16).padStart(6, '0')}`;
      expect(contrast(color, textOn(color))).toBeGreaterThanOrEqual(4.5);
    }),
  );
  expect(textOn('#ffcc00')).toBe('#000000');
  expect(textOn('#0b6b57')).toBe('#ffffff');
});

// WCAG 2.2, relative luminance.
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
