import type { Component, Nutrition } from '@eligo/proto/catalog/v1/catalog';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

const nutrient = z.number().nullable();

export const nutritionSchema = z.strictObject({
  calories: nutrient,
  total_fat_g: nutrient,
  saturated_fat_g: nutrient,
  trans_fat_g: nutrient,
  carbohydrate_g: nutrient,
  fiber_g: nutrient,
  protein_g: nutrient,
  sodium_mg: nutrient,
  added_sugar_g: nutrient,
});

export const productComponentSchema = z.strictObject({
  component_id: idOf('product_component'),
  component_nutrition_id: idOf('component_nutrition'),
  name: z.string(),
  shared: z.boolean(),
  test_mode: z.boolean(),
  category: answer.text,
  serving_size_g: nutrient,
  nutrition: nutritionSchema.nullable(),
  vegan: z.boolean().nullable(),
  gluten_free: z.boolean().nullable(),
  canonical_food_key: answer.text,
  client_reference_id: answer.text,
  metadata: answer.metadata,
  created_at: answer.time,
  updated_at: answer.time,
});

export function renderProductComponent(component: Component): z.infer<typeof productComponentSchema> {
  return {
    component_id: component.componentId,
    component_nutrition_id: component.componentNutritionId,
    name: component.name,
    shared: component.shared,
    test_mode: component.testMode,
    category: component.category ?? null,
    serving_size_g: decimal(component.servingSizeG),
    nutrition: component.nutrition === undefined ? null : renderNutrition(component.nutrition),
    vegan: component.vegan ?? null,
    gluten_free: component.glutenFree ?? null,
    canonical_food_key: component.canonicalFoodKey ?? null,
    client_reference_id: component.clientReferenceId ?? null,
    metadata: component.metadata,
    created_at: isoTime(component.createdAtMs),
    updated_at: isoTime(component.updatedAtMs),
  };
}

function renderNutrition(nutrition: Nutrition): z.infer<typeof nutritionSchema> {
  return {
    calories: decimal(nutrition.calories),
    total_fat_g: decimal(nutrition.totalFatG),
    saturated_fat_g: decimal(nutrition.saturatedFatG),
    trans_fat_g: decimal(nutrition.transFatG),
    carbohydrate_g: decimal(nutrition.carbohydrateG),
    fiber_g: decimal(nutrition.fiberG),
    protein_g: decimal(nutrition.proteinG),
    sodium_mg: decimal(nutrition.sodiumMg),
    added_sugar_g: decimal(nutrition.addedSugarG),
  };
}

function decimal(value: string | undefined): number | null {
  return value === undefined ? null : Number(value);
}
