/* A Vulkan renderer hands its device to Sotto, and draws while a character speaks: a bar for each piece of
 * speech.
 *
 * It draws without a window, and saves its last frame. Nothing of the engine is in the renderer's way: the
 * models compute on the same card, as closely as it can be shared, and the frame loop only asks for events.
 *
 * Compile and run it from the repository root. OUT is the folder of libsotto.so, here that of tests/check.py:
 *
 *     OUT=$PWD/build/check/release/out
 *     cc samples/c/vulkan_frame.c -I include -L "$OUT" -Wl,-rpath,"$OUT" -lsotto -lvulkan -o build/frame
 *     build/frame "$OUT/house.gguf" frame.png
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sotto/sotto.h>
#include <vulkan/vulkan.h>

enum { WIDTH = 640, HEIGHT = 360, PIXELS = WIDTH * HEIGHT * 4, MOST_BARS = 60, MOST_SECONDS = 240 };

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const long result_ = (long)(call);                                                                   \
        if (result_ < 0) {                                                                                   \
            const sotto_str why_ = sotto_last_error();                                                       \
            fprintf(stderr, "%s: %ld %.*s\n", #call, result_, (int)why_.size, why_.data);                    \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

typedef struct renderer {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkImage image;
    VkImageView view;
    VkBuffer pixels; /* what the last frame looks like, for us to read */
    VkDeviceMemory image_memory, pixel_memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
} renderer;

static sotto_str text(const char* literal) {
    const sotto_str made = {literal, SOTTO_NUL};
    return made;
}

/* What is handed to Sotto of it; `device` and `queue` may be NULL as long as there is none. */
static sotto_gpu_vulkan shown(const renderer* r) {
    sotto_gpu_vulkan vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    vulkan.instance = r->instance;
    vulkan.physical_device = r->physical;
    vulkan.device = r->device;
    vulkan.queue = r->queue;
    vulkan.queue_family = r->family;
    return vulkan;
}

static void make_device(renderer* r) {
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3
    };
    const VkInstanceCreateInfo instance = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application
    };
    CHECK(vkCreateInstance(&instance, NULL, &r->instance));
    uint32_t count = 1;
    CHECK(vkEnumeratePhysicalDevices(r->instance, &count, &r->physical));
    if (count == 0) {
        fprintf(stderr, "no Vulkan device was found\n");
        exit(1);
    }
    VkQueueFamilyProperties families[16];
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(r->physical, &count, families);
    while (r->family + 1 < count && (families[r->family].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) {
        ++r->family;
    }
    /* What the device must be made with so that it can be shared closely; nothing, where that cannot be. */
    const sotto_gpu_vulkan so_far = shown(r);
    sotto_gpu_vulkan_needs needs = SOTTO_INIT(sotto_gpu_vulkan_needs);
    CHECK(sotto_gpu_query_vulkan(&so_far, &needs));
    const VkPhysicalDeviceVulkan13Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .pNext = (void*)needs.next,
        .dynamicRendering = VK_TRUE,
    };
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = r->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkDeviceCreateInfo device = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = needs.extension_count,
        .ppEnabledExtensionNames = needs.extensions,
    };
    CHECK(vkCreateDevice(r->physical, &device, NULL, &r->device));
    vkGetDeviceQueue(r->device, r->family, 0, &r->queue);
}

static VkDeviceMemory allocate(const renderer* r, VkMemoryRequirements needs, VkMemoryPropertyFlags flags) {
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(r->physical, &memory);
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size
    };
    while ((needs.memoryTypeBits >> info.memoryTypeIndex & 1) == 0 ||
           (memory.memoryTypes[info.memoryTypeIndex].propertyFlags & flags) != flags) {
        ++info.memoryTypeIndex;
    }
    VkDeviceMemory made;
    CHECK(vkAllocateMemory(r->device, &info, NULL, &made));
    return made;
}

static void make_target(renderer* r) {
    const VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
    };
    const VkBufferCreateInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = PIXELS,
        .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VkMemoryRequirements needs;
    CHECK(vkCreateImage(r->device, &image, NULL, &r->image));
    vkGetImageMemoryRequirements(r->device, r->image, &needs);
    r->image_memory = allocate(r, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    CHECK(vkBindImageMemory(r->device, r->image, r->image_memory, 0));
    CHECK(vkCreateBuffer(r->device, &buffer, NULL, &r->pixels));
    vkGetBufferMemoryRequirements(r->device, r->pixels, &needs);
    const VkMemoryPropertyFlags seen =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    r->pixel_memory = allocate(r, needs, seen);
    CHECK(vkBindBufferMemory(r->device, r->pixels, r->pixel_memory, 0));

    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = r->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = image.format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    CHECK(vkCreateImageView(r->device, &view, NULL, &r->view));
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = r->family,
    };
    CHECK(vkCreateCommandPool(r->device, &pool, NULL, &r->pool));
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = r->pool,
        .commandBufferCount = 1,
    };
    CHECK(vkAllocateCommandBuffers(r->device, &commands, &r->commands));
}

static void turn_into(const renderer* r, VkImageLayout from, VkImageLayout to) {
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = r->image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    vkCmdPipelineBarrier(r->commands, all, all, 0, 0, NULL, 0, NULL, 1, &barrier);
}

/* One frame: a bar for each of the pieces of speech, as high as they are long. */
static void draw(const renderer* r, const size_t* bars, int count) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkRenderingAttachmentInfo target = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = r->view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = {.color = {.float32 = {0.08f, 0.09f, 0.12f, 1}}},
    };
    const VkRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea = {{0, 0}, {WIDTH, HEIGHT}},
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &target,
    };
    CHECK(vkBeginCommandBuffer(r->commands, &begin));
    turn_into(r, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    vkCmdBeginRendering(r->commands, &rendering);
    for (int i = 0; i < count; ++i) {
        const VkClearAttachment colour = {
            VK_IMAGE_ASPECT_COLOR_BIT,
            0,
            {.color = {.float32 = {0.95f, 0.7f - 0.4f * (float)i / MOST_BARS, 0.3f, 1}}}
        };
        const uint32_t high = bars[i] < 14 ? (uint32_t)bars[i] * 20 + 10 : 290;
        const VkClearRect bar = {{{20 + i * 10, (int32_t)(HEIGHT - 30 - high)}, {8, high}}, 0, 1};
        vkCmdClearAttachments(r->commands, 1, &colour, 1, &bar);
    }
    vkCmdEndRendering(r->commands);
    turn_into(r, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const VkBufferImageCopy all = {
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {WIDTH, HEIGHT, 1}
    };
    vkCmdCopyImageToBuffer(r->commands, r->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, r->pixels, 1, &all);
    CHECK(vkEndCommandBuffer(r->commands));
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &r->commands
    };
    CHECK(vkQueueSubmit(r->queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(r->queue)); /* in place of a swapchain */
}

static void put_u32(unsigned char* at, uint32_t value) {
    for (int i = 0; i < 4; ++i) {
        at[i] = (unsigned char)(value >> (24 - 8 * i));
    }
}

/* `bytes`: room for the length, then the kind, then `size` bytes, then room for the sum. */
static void write_chunk(FILE* file, unsigned char* bytes, uint32_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 4; i < size + 8; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
        }
    }
    put_u32(bytes, size);
    put_u32(bytes + size + 8, ~crc);
    fwrite(bytes, 1, size + 12, file);
}

/* A PNG whose rows are stored as they are. */
static void save(const unsigned char* pixels, const char* path) {
    enum { ROW = WIDTH * 4 + 1, DATA = 2 + HEIGHT * (5 + ROW) + 4 };
    static unsigned char header[25] = "----IHDR", data[DATA + 12] = "----IDAT\x78\x01", end[12] = "----IEND";
    put_u32(header + 8, WIDTH);
    put_u32(header + 12, HEIGHT);
    memcpy(header + 16, "\x08\x06\0\0\0", 5); /* 8 bits, red green blue alpha */
    uint32_t a = 1, b = 0;                    /* Adler's sum */
    unsigned char* at = data + 10;
    for (int row = 0; row < HEIGHT; ++row) {
        const unsigned char block[6] = {
            row == HEIGHT - 1, ROW & 255, ROW >> 8, ~ROW & 255, (~ROW >> 8) & 255, 0 /* no filter */
        };
        memcpy(at, block, 6);
        memcpy(at + 6, pixels + (size_t)row * WIDTH * 4, ROW - 1);
        for (int i = 0; i < ROW; ++i) {
            a = (a + at[5 + i]) % 65521;
            b = (b + a) % 65521;
        }
        at += 5 + ROW;
    }
    put_u32(at, b << 16 | a);
    FILE* file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    write_chunk(file, header, 13);
    write_chunk(file, data, DATA);
    write_chunk(file, end, 0);
    fclose(file);
}

int main(int argc, char** argv) {
    renderer r = {0};
    make_device(&r);
    make_target(&r);

    const sotto_gpu_vulkan vulkan = shown(&r);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
    gpu.vulkan = &vulkan;
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    desc.gpu = &gpu;
    sotto_engine* engine;
    CHECK(sotto_engine_create(&desc, &engine));
    sotto_str about;
    CHECK(sotto_engine_describe(engine, &about));
    const char* rung = strstr(about.data, "\"rung\":");
    printf("%.*s\n", (int)strcspn(rung, ","), rung);

    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    sotto_request loading, speaking = 0;
    model.id = text("npc");
    model.path = text(argc > 1 ? argv[1] : "house.gguf");
    ask.op = SOTTO_OP_CHAT;
    ask.body = text(
        "{\"model\": \"npc\", \"max_tokens\": 48, \"temperature\": 0, \"messages\": ["
        "{\"role\": \"system\", \"content\": \"Name: Mara\\nRole: ferrywoman\\nManner: gruff\\n"
        "Place: the landing, Millbrook\\nPrices:\\n- a ferry ride: 3 copper\"},"
        "{\"role\": \"user\", \"content\": \"How much is a ferry ride?\"}]}"
    );
    CHECK(sotto_engine_load_model(engine, &model, &loading));

    size_t bars[MOST_BARS];
    int count = 0, frame = 0, done = 0;
    const time_t began = time(NULL);
    for (; !done && difftime(time(NULL), began) < MOST_SECONDS; ++frame) {
        sotto_event event = SOTTO_INIT(sotto_event);
        sotto_engine_frame_begin(engine, NULL);
        while (sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            if (event.kind == SOTTO_EVENT_TEXT && count < MOST_BARS) {
                bars[count++] = event.text.size;
                printf("%.*s", (int)event.text.size, event.text.data);
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE && event.status < 0) {
                fprintf(stderr, "the request failed: %.*s\n", (int)event.text.size, event.text.data);
                return 1;
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE && speaking == 0) {
                CHECK(sotto_engine_submit(engine, &ask, &speaking));
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
                done = 1;
            }
        }
        draw(&r, bars, count);
        sotto_engine_frame_end(engine, NULL);
    }
    printf("\n%d frames, %d pieces of speech\n", frame, count);
    void* pixels;
    CHECK(vkMapMemory(r.device, r.pixel_memory, 0, VK_WHOLE_SIZE, 0, &pixels));
    save(pixels, argc > 2 ? argv[2] : "frame.png");

    CHECK(sotto_engine_detach_gpu(engine)); /* before anything of the renderer goes */
    sotto_engine_destroy(engine);
    vkDestroyCommandPool(r.device, r.pool, NULL);
    vkDestroyImageView(r.device, r.view, NULL);
    vkDestroyImage(r.device, r.image, NULL);
    vkDestroyBuffer(r.device, r.pixels, NULL);
    vkFreeMemory(r.device, r.image_memory, NULL);
    vkFreeMemory(r.device, r.pixel_memory, NULL);
    vkDestroyDevice(r.device, NULL);
    vkDestroyInstance(r.instance, NULL);
    return count > 0 ? 0 : 1;
}
