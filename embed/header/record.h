/* ---- Pipelines and command buffers ---- */

typedef struct rte_pipeline {
  VkDescriptorSetLayout set;
  VkPipelineLayout layout;
  VkPipeline pipeline;
} rte_pipeline;

struct rooftile_embed {
  VkDevice device;
  VkPipelineCache cache;
  rooftile_embed_limits limits;
  rte_pipeline pipelines[RTE_SHADERS];
};

enum { RTE_MOST_SETS = 4, RTE_MOST_BINDINGS = 8 };
struct rooftile_embed_recording {
  VkDescriptorPool pool;
  uint32_t view_count;
  VkBufferView views[RTE_MOST_SETS * RTE_MOST_BINDINGS];
};

static rooftile_embed_status rte_status(VkResult result) {
  return result == VK_SUCCESS ? ROOFTILE_EMBED_OK
         : result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY
             ? ROOFTILE_EMBED_OUT_OF_MEMORY
             : ROOFTILE_EMBED_DEVICE_ERROR;
}

rooftile_embed_status rooftile_embed_create(VkDevice device, const rooftile_embed_limits* limits,
                                            VkPipelineCache cache, rooftile_embed** embed) {
  if (device == VK_NULL_HANDLE || limits == NULL || embed == NULL)
    return ROOFTILE_EMBED_NULL_ARGUMENT;
  if (!rte_are_limits(limits)) return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
  rooftile_embed* const made = (rooftile_embed*)calloc(1, sizeof *made);
  if (made == NULL) return ROOFTILE_EMBED_OUT_OF_MEMORY;
  made->device = device;
  made->cache = cache;
  made->limits = *limits;
  *embed = made;
  return ROOFTILE_EMBED_OK;
}

static void rte_destroy(VkDevice device, const rte_pipeline* x) {
  vkDestroyPipeline(device, x->pipeline, NULL);
  vkDestroyPipelineLayout(device, x->layout, NULL);
  vkDestroyDescriptorSetLayout(device, x->set, NULL);
}

void rooftile_embed_destroy(rooftile_embed* embed) {
  if (embed == NULL) return;
  for (int i = 0; i < RTE_SHADERS; ++i) rte_destroy(embed->device, &embed->pipelines[i]);
  free(embed);
}

static VkDescriptorType rte_descriptor(int32_t kind) {
  return kind == 0 ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

static VkResult rte_compile(const rooftile_embed* embed, const rte_shader* shader,
                            const uint32_t* words, rte_pipeline* made) {
  VkDescriptorSetLayoutBinding bindings[RTE_MOST_BINDINGS];
  VkDescriptorSetLayoutCreateInfo set;
  VkPushConstantRange range;
  VkPipelineLayoutCreateInfo layout;
  VkShaderModuleCreateInfo code;
  VkShaderModule module = VK_NULL_HANDLE;
  VkComputePipelineCreateInfo pipeline;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup;
  memset(bindings, 0, sizeof bindings);
  memset(&set, 0, sizeof set);
  memset(&range, 0, sizeof range);
  memset(&layout, 0, sizeof layout);
  memset(&code, 0, sizeof code);
  memset(&pipeline, 0, sizeof pipeline);
  memset(&subgroup, 0, sizeof subgroup);
  for (int32_t i = 0; i < shader->bindings; ++i) {
    bindings[i].binding = (uint32_t)i;
    bindings[i].descriptorType = rte_descriptor(shader->kinds[i]);
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = (uint32_t)shader->bindings;
  set.pBindings = bindings;
  VkResult result = vkCreateDescriptorSetLayout(embed->device, &set, NULL, &made->set);
  if (result != VK_SUCCESS) return result;
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = (uint32_t)shader->push_bytes;
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &made->set;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  result = vkCreatePipelineLayout(embed->device, &layout, NULL, &made->layout);
  if (result != VK_SUCCESS) return result;
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = 4 * (size_t)shader->words;
  code.pCode = words;
  result = vkCreateShaderModule(embed->device, &code, NULL, &module);
  if (result != VK_SUCCESS) return result;
  pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline.layout = made->layout;
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = module;
  pipeline.stage.pName = "main";
  if (shader->subgroup_size != 0 && (embed->limits.features & ROOFTILE_EMBED_SUBGROUP_SIZE) != 0) {
    /* Also the default size: some drivers otherwise report one size and run another. */
    subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroup.requiredSubgroupSize = (uint32_t)shader->subgroup_size;
    pipeline.stage.pNext = &subgroup;
    if ((embed->limits.features & ROOFTILE_EMBED_FULL_SUBGROUPS) != 0 &&
        shader->local_x % shader->subgroup_size == 0)
      pipeline.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  result =
      vkCreateComputePipelines(embed->device, embed->cache, 1, &pipeline, NULL, &made->pipeline);
  vkDestroyShaderModule(embed->device, module, NULL);
  return result;
}

rooftile_embed_status rooftile_embed_prepare(rooftile_embed* embed,
                                             const rooftile_embed_choice* choice) {
  if (embed == NULL || choice == NULL) return ROOFTILE_EMBED_NULL_ARGUMENT;
  if (choice->kernel < 0 || choice->kernel >= RTE_KERNELS) return ROOFTILE_EMBED_WRONG_CHOICE;
  const rte_kernel* const kernel = &rte_kernels[choice->kernel];
  if (!rte_runs(kernel, &embed->limits)) return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
  const int32_t shaders[4] = {kernel->gemm, kernel->pack_a, kernel->pack_b, kernel->reduce};
  uint8_t* bytes = NULL;
  rooftile_embed_status status = ROOFTILE_EMBED_OK;
  for (int i = 0; i < 4 && status == ROOFTILE_EMBED_OK; ++i) {
    if (shaders[i] < 0 || embed->pipelines[shaders[i]].pipeline != VK_NULL_HANDLE) continue;
    const rte_shader* const shader = &rte_shaders[shaders[i]];
    if (bytes == NULL) bytes = rte_unpack();
    uint32_t* const words =
        bytes == NULL ? NULL : rte_module(bytes + shader->first, (size_t)shader->words);
    if (words == NULL) {
      status = ROOFTILE_EMBED_OUT_OF_MEMORY;
      break;
    }
    rte_pipeline made;
    memset(&made, 0, sizeof made);
    status = rte_status(rte_compile(embed, shader, words, &made));
    free(words);
    if (status == ROOFTILE_EMBED_OK)
      embed->pipelines[shaders[i]] = made;
    else
      rte_destroy(embed->device, &made);
  }
  free(bytes);
  return status;
}

/* A range of a buffer that a binding shows. */
typedef struct rte_bytes {
  VkBuffer buffer;
  VkDeviceSize offset, bytes;
} rte_bytes;

/* What a recording needs while it is made. */
typedef struct rte_recorder {
  const rooftile_embed* embed;
  VkCommandBuffer commands;
  const rte_kernel* kernel;
  const rte_call* call;
  const rooftile_embed_operands* at;
  rte_bytes a, b, c, packed_a, packed_b, parts, scales, zero_points, vectors, residual;
  VkDescriptorSet sets[RTE_MOST_SETS]; /* of RTE_PACK_A .. RTE_REDUCE, from RTE_PACK_A on */
} rte_recorder;

/* From the aligned begin of an operand on: whole vectors where buffer and device have them, else
   words. */
static rte_bytes rte_bound(const rooftile_embed_limits* limits, const rooftile_embed_place* place,
                           VkDeviceSize base, int64_t bytes) {
  rte_bytes range;
  const VkDeviceSize left = place->bytes - base;
  const VkDeviceSize whole = (VkDeviceSize)rte_up(rte_most(bytes, 4), 16);
  range.buffer = place->buffer;
  range.offset = base;
  range.bytes = whole <= left && whole <= limits->max_storage_range_bytes
                    ? whole
                    : (VkDeviceSize)rte_up(rte_most(bytes, 4), 4);
  return range;
}

/* Bytes of a texel in one of the formats that kernels use. */
static VkDeviceSize rte_texel_bytes(int32_t format) {
  switch (format) {
    case VK_FORMAT_R8_SINT:
    case VK_FORMAT_R8_UINT:
      return 1;
    case VK_FORMAT_R16_SFLOAT:
    case VK_FORMAT_R16_UINT:
      return 2;
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R16G16B16A16_UINT:
      return 8;
    case VK_FORMAT_R32G32B32A32_SFLOAT:
    case VK_FORMAT_R32G32B32A32_SINT:
    case VK_FORMAT_R32G32B32A32_UINT:
      return 16;
    default:
      return 4;
  }
}

static int rte_overlaps(const rte_bytes* x, const rte_bytes* y) {
  return x->buffer != VK_NULL_HANDLE && x->buffer == y->buffer &&
         x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static rte_bytes rte_section(const rooftile_embed_place* workspace, uint32_t alignment,
                             int64_t words, VkDeviceSize* next) {
  rte_bytes range;
  range.buffer = workspace->buffer;
  range.offset = *next;
  range.bytes = 4 * (VkDeviceSize)words;
  *next += (VkDeviceSize)rte_up(4 * words, alignment);
  return range;
}

static rooftile_embed_status rte_bind_ranges(rte_recorder* x) {
  const rte_call* const call = x->call;
  const rte_class* const type = call->type;
  const rooftile_embed_operands* const at = x->at;
  const rooftile_embed_limits* const limits = &x->embed->limits;
  const uint32_t alignment = limits->alignment_bytes;
  if (at->c.buffer == VK_NULL_HANDLE) return ROOFTILE_EMBED_NULL_ARGUMENT;
  x->c = rte_bound(limits, &at->c, call->base_c, (call->offset_c + call->span_c) * type->bytes_c);
  /* Shaders declare operands that are absent or not read; C stands in for them. */
  x->a = x->b = x->scales = x->zero_points = x->vectors = x->residual = x->c;
  if (call->p.k > 0) {
    if (at->a.buffer == VK_NULL_HANDLE || at->b.buffer == VK_NULL_HANDLE ||
        (type->separate_scales && at->scales.buffer == VK_NULL_HANDLE) ||
        (type->zero_points != 0 && at->zero_points.buffer == VK_NULL_HANDLE))
      return ROOFTILE_EMBED_NULL_ARGUMENT;
    x->a = rte_bound(limits, &at->a, call->base_a, rte_needed_a(x->kernel, call) * type->bytes_a);
    x->b = rte_bound(limits, &at->b, call->base_b, rte_bytes_b(x->kernel, call));
    if (type->separate_scales)
      x->scales =
          rte_bound(limits, &at->scales, at->scales.offset, rte_scales(call) * type->bytes_a);
    if (type->zero_points != 0)
      x->zero_points =
          rte_bound(limits, &at->zero_points, at->zero_points.offset, rte_zero_point_bytes(call));
  }
  if (type->row_scale || type->column_scale || type->bias) {
    if (at->vectors.buffer == VK_NULL_HANDLE) return ROOFTILE_EMBED_NULL_ARGUMENT;
    x->vectors = rte_bound(limits, &at->vectors, call->base_vectors, 4 * call->vectors);
  }
  if (type->residual) {
    if (at->residual.buffer == VK_NULL_HANDLE) return ROOFTILE_EMBED_NULL_ARGUMENT;
    x->residual = rte_bound(limits, &at->residual, call->base_residual,
                            4 * (call->offset_residual + call->span_residual));
  }
  if (rte_c_overlaps(call, at)) return ROOFTILE_EMBED_BAD_PROBLEM;
  const uint64_t bytes = rte_workspace(x->kernel, call, alignment);
  if (bytes == 0) return ROOFTILE_EMBED_OK;
  if (at->workspace.buffer == VK_NULL_HANDLE) return ROOFTILE_EMBED_NULL_ARGUMENT;
  if (at->workspace.offset % alignment != 0 || at->workspace.offset > at->workspace.bytes ||
      at->workspace.bytes - at->workspace.offset < bytes)
    return ROOFTILE_EMBED_WORKSPACE_TOO_SMALL;
  const rte_bytes whole = {at->workspace.buffer, at->workspace.offset, bytes};
  const rte_bytes* const others[] = {&x->a,           &x->b,       &x->c,       &x->scales,
                                     &x->zero_points, &x->vectors, &x->residual};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (rte_overlaps(&whole, others[i])) return ROOFTILE_EMBED_WORKSPACE_TOO_SMALL;
  const rte_sizes sizes = rte_sizes_of(x->kernel, call);
  VkDeviceSize next = at->workspace.offset;
  x->packed_a = rte_section(&at->workspace, alignment, sizes.packed_a, &next);
  x->packed_b = rte_section(&at->workspace, alignment, sizes.packed_b, &next);
  x->parts = rte_section(&at->workspace, alignment, sizes.parts, &next);
  return ROOFTILE_EMBED_OK;
}

/* The ranges that a kind of step binds, in the order of its shader; returns the shader. */
static int32_t rte_bindings(const rte_recorder* x, int kind, rte_bytes* ranges) {
  const rte_kernel* const kernel = x->kernel;
  const rte_class* const type = x->call->type;
  const int packed_a = x->packed_a.bytes > 0, packed_b = x->packed_b.bytes > 0;
  int count = 0, quantization = 0, epilogue = 0;
  int32_t shader = -1;
  switch (kind) {
    case RTE_PACK_A:
      shader = kernel->pack_a;
      ranges[count++] = x->a;
      ranges[count++] = x->packed_a;
      break;
    case RTE_PACK_B:
      shader = kernel->pack_b;
      ranges[count++] = x->b;
      ranges[count++] = x->packed_b;
      quantization = type->block > 0;
      break;
    case RTE_GEMM:
      shader = kernel->gemm;
      ranges[count++] = packed_a ? x->packed_a : x->a;
      ranges[count++] = packed_b ? x->packed_b : x->b;
      ranges[count++] = x->parts.bytes > 0 ? x->parts : x->c;
      quantization = type->block > 0 && !kernel->b.packed;
      epilogue = type->epilogue && kernel->reduce < 0;
      break;
    default:
      shader = kernel->reduce;
      ranges[count++] = x->parts;
      ranges[count++] = x->c;
      epilogue = type->epilogue;
      break;
  }
  if (quantization && type->separate_scales) {
    ranges[count++] = x->scales;
    if (type->zero_points != 0) ranges[count++] = x->zero_points;
  }
  if (epilogue) {
    ranges[count++] = x->vectors;
    ranges[count++] = x->residual;
  }
  return shader;
}

static VkResult rte_write_set(const rte_recorder* x, const rte_shader* shader, VkDescriptorSet set,
                              const rte_bytes* ranges, rooftile_embed_recording* recording) {
  VkWriteDescriptorSet writes[RTE_MOST_BINDINGS];
  VkDescriptorBufferInfo buffers[RTE_MOST_BINDINGS];
  memset(writes, 0, sizeof writes);
  for (int32_t i = 0; i < shader->bindings; ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = (uint32_t)i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = rte_descriptor(shader->kinds[i]);
    if (shader->kinds[i] == 0) {
      buffers[i].buffer = ranges[i].buffer;
      buffers[i].offset = ranges[i].offset;
      buffers[i].range = ranges[i].bytes;
      writes[i].pBufferInfo = &buffers[i];
      continue;
    }
    VkBufferViewCreateInfo view;
    memset(&view, 0, sizeof view);
    view.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
    view.buffer = ranges[i].buffer;
    view.format = (VkFormat)shader->kinds[i];
    view.offset = ranges[i].offset;
    const VkDeviceSize texel = rte_texel_bytes(shader->kinds[i]);
    const VkDeviceSize texels = ranges[i].bytes / texel;
    view.range = texel * (texels < x->embed->limits.max_texel_elements
                              ? texels
                              : x->embed->limits.max_texel_elements);
    VkBufferView* const made = &recording->views[recording->view_count];
    const VkResult result = vkCreateBufferView(x->embed->device, &view, NULL, made);
    if (result != VK_SUCCESS) return result;
    ++recording->view_count;
    writes[i].pTexelBufferView = made;
  }
  vkUpdateDescriptorSets(x->embed->device, (uint32_t)shader->bindings, writes, 0, NULL);
  return VK_SUCCESS;
}

static VkResult rte_make_sets(rte_recorder* x, rooftile_embed_recording* recording) {
  VkDescriptorPoolSize sizes[2];
  VkDescriptorPoolCreateInfo info;
  sizes[0].type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  sizes[1].type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
  sizes[0].descriptorCount = sizes[1].descriptorCount = RTE_MOST_SETS * RTE_MOST_BINDINGS;
  memset(&info, 0, sizeof info);
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = RTE_MOST_SETS;
  info.poolSizeCount = 2;
  info.pPoolSizes = sizes;
  VkResult result = vkCreateDescriptorPool(x->embed->device, &info, NULL, &recording->pool);
  if (result != VK_SUCCESS) return result;
  for (int kind = RTE_PACK_A; kind <= RTE_REDUCE; ++kind) {
    rte_bytes ranges[RTE_MOST_BINDINGS];
    const int32_t shader = rte_bindings(x, kind, ranges);
    if (shader < 0 || (kind == RTE_PACK_A && x->packed_a.bytes == 0) ||
        (kind == RTE_PACK_B && x->packed_b.bytes == 0) ||
        (kind == RTE_REDUCE && x->parts.bytes == 0))
      continue;
    VkDescriptorSetAllocateInfo allocate;
    VkDescriptorSet* const set = &x->sets[kind - RTE_PACK_A];
    memset(&allocate, 0, sizeof allocate);
    allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocate.descriptorPool = recording->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &x->embed->pipelines[shader].set;
    result = vkAllocateDescriptorSets(x->embed->device, &allocate, set);
    if (result == VK_SUCCESS)
      result = rte_write_set(x, &rte_shaders[shader], *set, ranges, recording);
    if (result != VK_SUCCESS) return result;
  }
  return VK_SUCCESS;
}

static void rte_record_step(void* user, const rte_step* step) {
  const rte_recorder* const x = (const rte_recorder*)user;
  if (step->kind == RTE_BARRIER) {
    VkMemoryBarrier barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vkCmdPipelineBarrier(x->commands,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    return;
  }
  if (step->kind == RTE_CLEAR) {
    vkCmdFillBuffer(x->commands, x->parts.buffer, x->parts.offset, x->parts.bytes, 0);
    return;
  }
  const rte_kernel* const kernel = x->kernel;
  const int32_t shader = step->kind == RTE_PACK_A   ? kernel->pack_a
                         : step->kind == RTE_PACK_B ? kernel->pack_b
                         : step->kind == RTE_GEMM   ? kernel->gemm
                                                    : kernel->reduce;
  const rte_pipeline* const made = &x->embed->pipelines[shader];
  vkCmdBindPipeline(x->commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->pipeline);
  vkCmdBindDescriptorSets(x->commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->layout, 0, 1,
                          &x->sets[step->kind - RTE_PACK_A], 0, NULL);
  vkCmdPushConstants(x->commands, made->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     4 * step->push_words, step->push);
  vkCmdDispatch(x->commands, step->groups[0], step->groups[1], step->groups[2]);
}

void rooftile_embed_release(rooftile_embed* embed, rooftile_embed_recording* recording) {
  if (embed == NULL || recording == NULL) return;
  vkDestroyDescriptorPool(embed->device, recording->pool, NULL);
  for (uint32_t i = 0; i < recording->view_count; ++i)
    vkDestroyBufferView(embed->device, recording->views[i], NULL);
  free(recording);
}

static double rte_most_of(double x, double y) { return x > y ? x : y; }

rooftile_embed_status rooftile_embed_record(rooftile_embed* embed, VkCommandBuffer commands,
                                            const rooftile_embed_choice* choice,
                                            const rooftile_embed_problem* problem,
                                            const rooftile_embed_operands* operands,
                                            rooftile_embed_recording** recording) {
  rte_call call;
  rte_recorder x;
  if (recording != NULL) *recording = NULL; /* until it is made */
  if (embed == NULL || commands == VK_NULL_HANDLE || choice == NULL || problem == NULL ||
      operands == NULL || recording == NULL)
    return ROOFTILE_EMBED_NULL_ARGUMENT;
  if (choice->kernel < 0 || choice->kernel >= RTE_KERNELS) return ROOFTILE_EMBED_WRONG_CHOICE;
  const rte_kernel* const kernel = &rte_kernels[choice->kernel];
  rooftile_embed_status status = rte_bind(&embed->limits, problem, operands, &call);
  if (status != ROOFTILE_EMBED_OK) return status;
  if (kernel->of_class != (int32_t)(call.type - rte_classes)) return ROOFTILE_EMBED_WRONG_CHOICE;
  status = rte_fits(kernel, &embed->limits, &call);
  if (status != ROOFTILE_EMBED_OK) return status;
  memset(&x, 0, sizeof x);
  x.embed = embed;
  x.commands = commands;
  x.kernel = kernel;
  x.call = &call;
  x.at = operands;
  status = call.span_c == 0 ? ROOFTILE_EMBED_OK : rte_bind_ranges(&x);
  if (status != ROOFTILE_EMBED_OK) return status;
  const int32_t shaders[4] = {kernel->gemm, kernel->pack_a, kernel->pack_b, kernel->reduce};
  for (int i = 0; i < 4; ++i)
    if (shaders[i] >= 0 && embed->pipelines[shaders[i]].pipeline == VK_NULL_HANDLE)
      return ROOFTILE_EMBED_NOT_PREPARED;
  rooftile_embed_recording* const made = (rooftile_embed_recording*)calloc(1, sizeof *made);
  if (made == NULL) return ROOFTILE_EMBED_OUT_OF_MEMORY;
  if (call.span_c == 0) { /* nothing to compute */
    *recording = made;
    return ROOFTILE_EMBED_OK;
  }
  const VkResult result = rte_make_sets(&x, made);
  if (result != VK_SUCCESS) {
    rooftile_embed_release(embed, made);
    return rte_status(result);
  }
  /* Kernels that were not measured here are taken to be slow. */
  const double flops = rte_flops(&call);
  const double ns = choice->expected_ns > 0 && choice->rte_flops > 0
                        ? (double)choice->expected_ns * rte_most_of(flops / choice->rte_flops, 1)
                        : flops;
  const double steps = ns * kernel->slowness / 0.25e9;
  rte_plan(kernel, &embed->limits, &call, steps > 1 ? flops / steps : 0, &x, rte_record_step);
  *recording = made;
  return ROOFTILE_EMBED_OK;
}
